// Requests to the server, typed by its OpenAPI document.

import type { paths } from "../../generated/schema";
import { parseMessage, type Message } from "./message";
import { tracked } from "./pending";
import { TurnEnded } from "./turns";
import type { Job } from "./types";

export type { Job } from "./types";

/** A request that failed, with the server's message. */
export class ServerError extends Error {}

const INTERVAL = 250; // milliseconds between questions about a job

type Method = "get" | "post" | "put" | "delete";

/** Paths that have a method, without the leading /api/. */
type PathOf<M extends Method> = {
  [P in keyof paths]: P extends `/api/${infer Short}`
    ? paths[P][M] extends { responses: unknown }
      ? Short
      : never
    : never;
}[keyof paths];

type Operation<M extends Method, P extends string> = `/api/${P}` extends keyof paths ? paths[`/api/${P}`][M] : never;
type Part<O, Name extends "path" | "query"> = O extends { parameters: infer All }
  ? Pick<All, Name & keyof All>
  : object;
type BodyPart<O> = O extends { requestBody: { content: { "application/json": infer Body } } }
  ? { body: Body }
  : { body?: Blob };
/** For a union of operations, the union of their options instead of all combinations of their parts. */
type Options<O> = O extends unknown
  ? Part<O, "path"> & Part<O, "query"> & BodyPart<O> & { signal?: AbortSignal }
  : never;
/** Options are optional where no parameter is required. */
type Arguments<O> = object extends Options<O> ? [options?: Options<O>] : [options: Options<O>];

type Content<O, Type extends string> = O extends { responses: { 200: { content: Record<Type, infer Body> } } }
  ? Body
  : unknown;

/** The JSON answer of a request. */
export type Answer<M extends Method, P extends string> = Content<Operation<M, P>, "application/json">;

/** The JSON head of an answer with arrays. */
export type Head<M extends Method, P extends string> = Content<Operation<M, P>, "application/octet-stream">;

/** The JSON body of a request. */
export type Body<P extends PathOf<"post">> =
  Operation<"post", P> extends { requestBody: { content: { "application/json": infer B } } } ? B : never;

interface AnyOptions {
  path?: object;
  query?: object;
  body?: unknown;
  signal?: AbortSignal;
}

export async function getJson<P extends PathOf<"get">>(
  path: P,
  ...[options]: Arguments<Operation<"get", P>>
): Promise<Answer<"get", P>> {
  return request("get", path, options, (response) => response.json());
}

export async function getArrays<P extends PathOf<"get">>(
  path: P,
  ...[options]: Arguments<Operation<"get", P>>
): Promise<Message<Head<"get", P>>> {
  return parseMessage(await request("get", path, options, (response) => response.arrayBuffer()));
}

/** The bytes of an answer, such as a sound. */
export async function getBytes<P extends PathOf<"get">>(
  path: P,
  ...[options]: Arguments<Operation<"get", P>>
): Promise<ArrayBuffer> {
  return request("get", path, options, (response) => response.arrayBuffer());
}

export async function send<M extends "post" | "put" | "delete", P extends PathOf<M>>(
  method: M,
  path: P,
  ...[options]: Arguments<Operation<M, P>>
): Promise<Answer<M, P>> {
  return request(method, path, options, (response) => response.json());
}

export async function sendForArrays<P extends PathOf<"post">>(
  path: P,
  ...[options]: Arguments<Operation<"post", P>>
): Promise<Message<Head<"post", P>>> {
  return parseMessage(await request("post", path, options, (response) => response.arrayBuffer()));
}

/** Request a file and hand it to the browser to save as `name`. */
export async function download<P extends PathOf<"post">>(
  name: string,
  path: P,
  ...[options]: Arguments<Operation<"post", P>>
): Promise<void> {
  saveFile(await request("post", path, options, (response) => response.blob()), name);
}

/** Pack segments into a zip, as a job, and hand it to the browser to save as `name`. */
export async function downloadZip(
  name: string,
  body: Body<"exports">,
  progress: (job: Job | null) => void = () => undefined,
): Promise<void> {
  const { id } = await finished(await send("post", "exports", { body }), progress);
  const content = await getBytes("exports/{id}", { path: { id } });
  saveFile(new Blob([content], { type: "application/zip" }), name);
}

/** Pass a file to the browser, which asks the user where to save it. */
export function saveFile(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Where in the page each job was asked for, by its number; its result is shown there. */
export const askedAt = new Map<number, string>();

/** The result of a job; `progress` is called with each of its states, and with null at the end. If the turn of `signal`
 * is replaced by a newer one, the job is stopped unless others wait for it; if its view is left, the job goes on and is
 * listed under Jobs. */
export function finished<Result>(
  job: Job<Result | null>,
  progress: (job: Job | null) => void,
  signal?: AbortSignal,
): Promise<Result> {
  if (!askedAt.has(job.id)) askedAt.set(job.id, globalThis.location?.hash ?? "");
  return tracked(polled(job, progress, signal));
}

async function polled<Result>(
  job: Job<Result | null>,
  progress: (job: Job | null) => void,
  signal?: AbortSignal,
): Promise<Result> {
  const { id } = job;
  try {
    while (job.state === "running") {
      signal?.throwIfAborted();
      progress(job);
      await new Promise((resolve) => setTimeout(resolve, INTERVAL));
      job = (await getJson("jobs/{number}", { path: { number: id }, signal })) as Job<Result>;
    }
    signal?.throwIfAborted();
    if (job.state === "done") return job.result!;
    throw new ServerError(job.error || "stopped");
  } catch (error) {
    if (error instanceof TurnEnded && error.ending === "replaced")
      void send("delete", "jobs/{number}", { path: { number: id }, query: { replaced: true } }).catch(() => undefined);
    throw error;
  } finally {
    if (!signal?.aborted) progress(null);
  }
}

/** A path template with its parameters filled in; slashes of a value stay slashes. */
export function fill(template: string, values: Record<string, unknown> = {}): string {
  return template.replace(/\{(\w+)\}/g, (_, key: string) =>
    String(values[key]).split("/").map(encodeURIComponent).join("/"),
  );
}

/** Append ?key=value to a path; empty values are skipped, lists give one pair per value. */
export function withQuery(path: string, query: Record<string, unknown> = {}): string {
  const pairs = Object.entries(query).flatMap(([key, value]) => [value].flat().map((one) => [key, one] as const));
  const given = pairs.filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

/** The body of an answer, as `read` reads it. */
function request<Result>(
  method: Method,
  template: string,
  options: AnyOptions | undefined,
  read: (response: Response) => Promise<Result>,
): Promise<Result> {
  return tracked(
    respond(method, template, options)
      .then(read)
      .then((result) => {
        options?.signal?.throwIfAborted(); // nobody waits for a late answer
        return result;
      }),
  );
}

async function respond(method: Method, template: string, options: AnyOptions = {}): Promise<Response> {
  const { path, query, body, signal } = options;
  const raw = body === undefined || body instanceof Blob;
  const response = await fetch(
    withQuery(`api/${fill(template, path as Record<string, unknown>)}`, query as Record<string, unknown>),
    {
      method: method.toUpperCase(),
      signal,
      headers: raw ? {} : { "Content-Type": "application/json" },
      body: raw ? body : JSON.stringify(body),
    },
  ).catch((error: Error) => {
    if (signal?.aborted || error.name === "AbortError") throw error;
    throw new ServerError("The server cannot be reached. Is it still running?");
  });
  if (response.ok) return response;
  throw new ServerError(errorMessage(await response.text()) || `the server answered ${response.status}`);
}

function errorMessage(text: string): string {
  try {
    const answer = JSON.parse(text);
    return answer.error ?? JSON.stringify(answer.detail ?? answer);
  } catch {
    return text; // not JSON
  }
}
