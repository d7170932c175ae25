// Requests to the server. Mistakes come back as `Refusal` with the server's own words.

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

function address(path: string, query?: Record<string, unknown>): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `api/${path}${text ? `?${text}` : ""}`;
}

export async function getJson<T = any>(path: string, query?: Record<string, unknown>): Promise<T> {
  return (await answered(fetch(address(path, query)))).json();
}

export async function getArrays<Meta = any>(
  path: string, query?: Record<string, unknown>, signal?: AbortSignal,
): Promise<Message<Meta>> {
  const response = await answered(fetch(address(path, query), { signal }));
  return unpack<Meta>(await response.arrayBuffer());
}

export async function send<T = any>(
  method: "POST" | "PUT" | "DELETE" | "PATCH", path: string, body?: unknown,
): Promise<T> {
  const raw = body instanceof Blob;
  const response = await answered(fetch(address(path), {
    method,
    headers: body === undefined || raw ? {} : { "Content-Type": "application/json" },
    body: body === undefined ? undefined : raw ? body : JSON.stringify(body),
  }));
  return response.json();
}

export async function sendForArrays<Meta = any>(
  path: string, body: unknown, signal?: AbortSignal,
): Promise<Message<Meta>> {
  const response = await answered(fetch(address(path), {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body), signal,
  }));
  return unpack<Meta>(await response.arrayBuffer());
}

/** Ask for a file and hand it to the browser to keep. */
export async function download(path: string, body: unknown, name: string): Promise<void> {
  const response = await answered(fetch(address(path), {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  }));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
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
