// Binary messages of the server: a JSON header, then the bytes of its arrays.

type TypedArray = Float32Array | Int32Array | Uint8Array;

export interface Message<Meta = unknown> {
  meta: Meta;
  arrays: Record<string, TypedArray>;
  shapes: Record<string, number[]>;
}

interface Entry {
  type: "float32" | "int32" | "uint8";
  shape: number[];
  at: number;
}

/** Typed arrays over the bytes of a message, without a copy. */
export function parseMessage<Meta>(buffer: ArrayBuffer): Message<Meta> {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays: Record<string, TypedArray> = {};
  const shapes: Record<string, number[]> = {};
  for (const [name, entry] of Object.entries(head.arrays as Record<string, Entry>)) {
    const count = entry.shape.reduce((product, size) => product * size, 1);
    const start = 4 + length + entry.at;
    arrays[name] =
      entry.type === "float32"
        ? new Float32Array(buffer, start, count)
        : entry.type === "int32"
          ? new Int32Array(buffer, start, count)
          : new Uint8Array(buffer, start, count);
    shapes[name] = entry.shape;
  }
  return { meta: head.meta, arrays, shapes };
}
