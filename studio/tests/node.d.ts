// The parts of Node that tests use.

declare module "node:fs" {
  export function readFileSync(path: string): Uint8Array<ArrayBuffer>;
  export function readFileSync(path: string, encoding: "utf8"): string;
}

declare const process: { env: Record<string, string | undefined> };
