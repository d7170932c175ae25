// Several characters in one answer, as motions of their own.

import type { MotionData } from "./motion";
import type { Message } from "../net/wire";

export function motionsFrom(message: Message): MotionData[] {
  const { fps, frames, characters } = message.meta;
  return characters.map((one: any, number: number) => ({
    ...one, fps, frames,
    positions: message.arrays[`positions_${number}`] as Float32Array,
    contacts: message.arrays[`contacts_${number}`] as Uint8Array,
  }));
}
