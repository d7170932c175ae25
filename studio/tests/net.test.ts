import { afterEach, describe, expect, it, vi } from "vitest";
import { ServerError, fill, finished, getJson, send, type Job } from "../src/net/api";
import { Latest } from "../src/net/live";
import { parseMessage } from "../src/net/message";
import { pendingCount } from "../src/net/pending";

afterEach(() => vi.unstubAllGlobals());

const answering = (...responses: Response[]) => {
  const fetch = vi.fn(() => Promise.resolve(responses.shift()!));
  vi.stubGlobal("fetch", fetch);
  return fetch;
};

describe("requests", () => {
  it("fills parameters into the path and encodes them", () => {
    expect(fill("motions/{name}/frames", { name: "a b#" })).toBe("motions/a%20b%23/frames");
    expect(fill("uploads/{id}/files/{name}", { id: 3, name: "x/y z.bvh" })).toBe("uploads/3/files/x/y%20z.bvh");
  });
  it("sends JSON bodies", async () => {
    const fetch = answering(Response.json({ labels: ["a"] }));
    await send("put", "library/labels/{name}", { path: { name: "walk" }, body: { labels: ["a"] } });
    expect(fetch).toHaveBeenCalledWith(
      "api/library/labels/walk",
      expect.objectContaining({ method: "PUT", body: '{"labels":["a"]}' }),
    );
  });
  it("reports the server's message", async () => {
    answering(Response.json({ error: "no motion 'x'" }, { status: 404 }), new Response("closed", { status: 403 }));
    await expect(getJson("library")).rejects.toThrow(new ServerError("no motion 'x'"));
    await expect(getJson("library")).rejects.toThrow("closed");
  });
  it("says when the server cannot be reached", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
    await expect(getJson("library")).rejects.toThrow("cannot be reached");
  });
});

describe("work under way", () => {
  it("is counted until the answer is read or has failed", async () => {
    let read: (body: string) => void = () => {};
    const body = new ReadableStream({
      start(stream) {
        read = (text) => {
          stream.enqueue(new TextEncoder().encode(text));
          stream.close();
        };
      },
    });
    answering(new Response(body), new Response("closed", { status: 403 }));
    const answer = getJson("library");
    const refused = getJson("library").catch(() => "refused");
    expect(pendingCount()).toBe(2);
    expect(await refused).toBe("refused");
    expect(pendingCount()).toBe(1); // its head has come, its body has not
    read("{}");
    await answer;
    expect(pendingCount()).toBe(0);
  });
});

describe("jobs", () => {
  const job = (state: Job["state"], rest: Partial<Job<number>> = {}): Job<number> => ({
    id: 1,
    title: "",
    done: 0,
    total: null,
    error: "",
    result: 0,
    view: "",
    state,
    ...rest,
  });
  it("are polled until they are done", async () => {
    vi.useFakeTimers();
    answering(Response.json(job("running", { done: 1 })), Response.json(job("done", { result: 7 })));
    const states: string[] = [];
    const result = finished(job("running"), (now) => states.push(now ? `${now.state} ${now.done}` : "end"));
    expect(pendingCount()).toBeGreaterThan(0); // also between two requests
    await vi.runAllTimersAsync();
    vi.useRealTimers();
    expect(await result).toBe(7);
    expect(states).toEqual(["running 0", "running 1", "end"]);
  });
  it("fail with their error", async () => {
    await expect(finished(job("failed", { error: "too short" }), () => {})).rejects.toThrow("too short");
    await expect(finished(job("stopped"), () => {})).rejects.toThrow("stopped");
  });
});

describe("Latest", () => {
  it("runs one request at a time and skips all but the latest", async () => {
    const runs: number[] = [];
    const latest = new Latest<number>(async (value) => {
      runs.push(value);
      await Promise.resolve();
    });
    for (const value of [1, 2, 3]) latest.submit(value);
    await latest.whenDone();
    expect(runs).toEqual([1, 3]);
  });
});

describe("messages", () => {
  it("are a JSON header and arrays", () => {
    const arrays = {
      speed: { type: "float32", shape: [2], at: 0 },
      cells: { type: "uint8", shape: [2, 2], at: 8 },
      ids: { type: "int32", shape: [1], at: 12 },
    };
    let head = JSON.stringify({ meta: { fps: 30 }, arrays });
    while ((head.length + 4) % 8) head += " ";
    const buffer = new ArrayBuffer(4 + head.length + 16);
    new DataView(buffer).setUint32(0, head.length, true);
    new Uint8Array(buffer).set(new TextEncoder().encode(head), 4);
    const start = 4 + head.length;
    new Float32Array(buffer, start, 2).set([0.5, 2]);
    new Uint8Array(buffer, start + 8, 4).set([1, 2, 3, 255]);
    new Int32Array(buffer, start + 12, 1).set([-7]);
    const message = parseMessage<{ fps: number }>(buffer);
    expect(message.meta.fps).toBe(30);
    expect([...message.arrays.speed]).toEqual([0.5, 2]);
    expect([...message.arrays.cells]).toEqual([1, 2, 3, 255]);
    expect([...message.arrays.ids]).toEqual([-7]);
    expect(message.shapes.cells).toEqual([2, 2]);
  });
});
