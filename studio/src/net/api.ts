// Requests to the server. Mistakes come back as `Refusal` with the server's own words.

import { withQuery } from "../page/route";
import { unpack, type Message } from "./wire";

export class Refusal extends Error {}

async function answered(asking: Promise<Response>): Promise<Response> {
  const response = await asking.catch((error: Error) => {
    throw error.name === "AbortError" ? error : new Refusal("the server cannot be reached; is it still running?");
  });
  if (response.ok) return response;
  const text = await response.text();
  let words = text;
  try {
    const told = JSON.parse(text);
    words = told.error ?? JSON.stringify(told.detail ?? told);
  } catch { /* plain text: as it is */ }
  throw new Refusal(words || `the server answered ${response.status}`);
}

async function get(path: string, query?: Record<string, unknown>): Promise<Response> {
  return answered(fetch(withQuery(`api/${path}`, query)));
}

/** A body of bytes goes as it is, any other as JSON. */
async function given(
  method: "POST" | "PUT" | "DELETE", path: string, body?: unknown, signal?: AbortSignal,
): Promise<Response> {
  const raw = body === undefined || body instanceof Blob;
  return answered(fetch(`api/${path}`, {
    method, signal,
    headers: raw ? {} : { "Content-Type": "application/json" },
    body: raw ? body : JSON.stringify(body),
  }));
}

export async function getJson<T = any>(path: string, query?: Record<string, unknown>): Promise<T> {
  return (await get(path, query)).json();
}

export async function getArrays<Meta = any>(path: string, query?: Record<string, unknown>): Promise<Message<Meta>> {
  return unpack<Meta>(await getBytes(path, query));
}

/** As they come: sounds, for example. */
export async function getBytes(path: string, query?: Record<string, unknown>): Promise<ArrayBuffer> {
  return (await get(path, query)).arrayBuffer();
}

export async function send<T = any>(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<T> {
  return (await given(method, path, body)).json();
}

export async function sendForArrays<Meta = any>(
  path: string, body: unknown, signal?: AbortSignal,
): Promise<Message<Meta>> {
  return unpack<Meta>(await (await given("POST", path, body, signal)).arrayBuffer());
}

/** Ask for a file and hand it to the browser to keep. */
export async function download(path: string, body: unknown, name: string): Promise<void> {
  keep(await (await given("POST", path, body)).blob(), name);
}

/** Hand a file to the browser, which keeps it where the person wants. */
export function keep(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export interface Job {
  id: number; title: string; done: number; total: number | null;
  state: "running" | "done" | "failed" | "stopped"; error: string; result: any;
}

/** Wait for long work, telling how far it is. */
export async function finished(job: Job, told: (job: Job) => void = () => {}): Promise<any> {
  for (;;) {
    told(job);
    if (job.state === "done") return job.result;
    if (job.state !== "running") throw new Refusal(job.error || "stopped");
    await new Promise((resolve) => setTimeout(resolve, 250));
    job = await getJson<Job>(`jobs/${job.id}`);
  }
}
