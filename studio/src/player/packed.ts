// Packed clips: what `packed_clip` in plots/pages/player.py writes into the attribute `clip` of a page.
//
// base64 of a deflated stream: a line of JSON, then `series` x `frames` whole numbers, then, if the header has `gaps`, one
// byte per frame and point that is 1 where the point is missing. A number is the second difference along time, zigzag coded
// (0, -1, 1, -2, ...) in groups of seven bits, lowest first; the highest bit says that another group follows.

import type { Note } from "./sound";

export interface Header {
  kind: "figure" | "floor" | "aim";
  name: string;
  facts: string;
  note: string;
  fps: number;
  frames: number;
  series: number;
  gaps?: boolean;
  /** Music: start and length in seconds, pitch as a MIDI number (0: a drum), loudness up to 1. */
  notes?: Note[];
}

export interface Unpacked<Kind extends Header = Header> {
  header: Kind;
  /** (series, frames) */
  values: Int32Array;
  /** (frames, points); null if nothing is missing. */
  gaps: Uint8Array | null;
}

/** The bytes behind a base64 string. */
function bytesOf(coded: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(coded), (letter) => letter.charCodeAt(0));
}

export async function unpack<Kind extends Header>(coded: string): Promise<Unpacked<Kind>> {
  const plain = new Blob([bytesOf(coded)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return parse<Kind>(new Uint8Array(await new Response(plain).arrayBuffer()));
}

export function parse<Kind extends Header>(bytes: Uint8Array): Unpacked<Kind> {
  let at = bytes.indexOf(10);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(0, at++))) as Kind;
  const { series, frames } = header;
  const values = new Int32Array(series * frames);
  for (let k = 0; k < series; k++) {
    let value = 0;
    let step = 0;
    for (let t = 0; t < frames; t++) {
      let coded = 0;
      for (let shift = 0; ; shift += 7) {
        const group = bytes[at++];
        coded |= (group & 127) << shift;
        if (!(group >= 128)) break; // also at the end of a damaged clip
      }
      const change = (coded >>> 1) ^ -(coded & 1);
      step = t < 2 ? change : step + change; // the first two: the value, and the first difference
      value += step;
      values[k * frames + t] = value;
    }
  }
  return { header, values, gaps: header.gaps ? bytes.subarray(at) : null };
}
