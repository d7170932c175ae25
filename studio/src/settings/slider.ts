// Numbers of settings that are chosen with a slider: places on it, and the values that they stand for.

import type { Field } from "./fields";

/** How a number is chosen with a slider. */
export interface Slider {
  least: number;
  most: number;
  /** Between values; by default 200 steps from end to end. */
  step?: number;
  /** True if equal distances on the slider are equal ratios. */
  ratios?: boolean;
  /** Without a value, the slider is here. */
  usual?: number;
  /** The right end stands for no value. */
  open?: boolean;
  /** The value in words. */
  text?: (value: number | null) => string;
  /** Values that are marked above the slider; those beyond the chosen one are faint. */
  marks?: readonly number[];
}

/** Ends and step of the input element. */
export function ends({ least, most, step, ratios }: Slider): { low: number; high: number; step: number } {
  return ratios ? { low: 0, high: 1, step: 0.005 } : { low: least, high: most, step: step ?? (most - least) / 200 };
}

/** Where a value is on the slider. */
export function placeOf({ least, most, ratios, usual = most }: Slider, value: number | null): number {
  const one = value ?? usual;
  return ratios ? Math.log(one / least) / Math.log(most / least) : one;
}

/** The value of a field at a place on its slider. */
export function valueAt({ least, most, ratios, open }: Slider, field: Field, place: number): number | null {
  const value = ratios ? least * (most / least) ** place : place;
  if (open && field.optional && value >= most - (most - least) * 1e-4) return null;
  return field.kind === "integer" ? Math.round(value) : value;
}
