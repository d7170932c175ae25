// The parts of Node that tests and the build use.

declare module "node:fs" {
  export function readFileSync(path: string): Uint8Array<ArrayBuffer>;
  export function readFileSync(path: string, encoding: "utf8"): string;
  export function copyFileSync(from: string, to: string): void;
  export function mkdirSync(path: string, options: { recursive: boolean }): void;
}

declare module "node:path" {
  export function dirname(path: string): string;
  export function join(...parts: string[]): string;
}

declare module "node:module" {
  export function createRequire(url: string): { resolve(name: string): string };
}

declare const process: { env: Record<string, string | undefined> };
