import { describe, expect, it, vi } from "vitest";
import { Turns, TurnEnded } from "../src/net/turns";
import { finished, type Job } from "../src/net/api";
import { Requests, Store } from "../src/page/store";

describe("a store", () => {
  const store = () => new Store({ take: "walk", count: 0, picked: ["a"] });

  it("calls those who watch a key that has changed, once for all changes together", () => {
    const one = store();
    const [both, count] = [vi.fn(), vi.fn()];
    one.watch(["take", "picked"], both);
    one.watch(["count"], count);
    one.set({ take: "kick", picked: ["b"] });
    expect([both.mock.calls.length, count.mock.calls.length]).toEqual([1, 0]);
    expect(one.state).toEqual({ take: "kick", count: 0, picked: ["b"] });
  });
  it("does not call anyone if nothing has changed", () => {
    const one = store();
    const call = vi.fn();
    one.watch(["take", "picked"], call);
    one.set({ take: "walk", picked: one.state.picked });
    expect(call).not.toHaveBeenCalled();
  });
  it("shows the whole change to each of them", () => {
    const one = store();
    const seen: unknown[] = [];
    one.watch(["count"], () => seen.push(one.state.take));
    one.set({ count: 1, take: "kick" });
    expect(seen).toEqual(["kick"]);
  });
  it("stops calling those who ended it, also while it calls", () => {
    const one = store();
    const later = vi.fn();
    const ends: (() => void)[] = [];
    one.watch(["count"], () => ends.forEach((end) => end()));
    ends.push(one.watch(["count"], later));
    one.set({ count: 1 });
    expect(later).not.toHaveBeenCalled();
  });
  it("can be changed by those who are called", () => {
    const one = store();
    one.watch(["take"], () => one.set({ count: one.state.count + 1 }));
    one.set({ take: "kick" });
    expect(one.state.count).toBe(1);
  });
  it("calls the others if one fails", () => {
    const report = vi.fn();
    vi.stubGlobal("reportError", report);
    const one = store();
    const after = vi.fn();
    one.watch(["take"], () => {
      throw new Error("a bug");
    });
    one.watch(["take"], after);
    one.set({ take: "kick" });
    expect(after).toHaveBeenCalledOnce();
    expect(report).toHaveBeenCalledOnce();
  });
});

describe("requests", () => {
  it("are answered by the first part that can", () => {
    const requests = new Requests<{ escape: null; reveal: { time: number } }>();
    const [closed, open, never] = [vi.fn(() => false), vi.fn(() => true), vi.fn(() => true)];
    requests.answer("escape", closed);
    requests.answer("reveal", never);
    requests.answer("escape", open);
    requests.answer("escape", never);
    expect(requests.request("escape", null)).toBe(true);
    expect([closed, open, never].map((one) => one.mock.calls.length)).toEqual([1, 1, 0]);
  });
  it("carry their details, and are not answered by parts that have left", () => {
    const requests = new Requests<{ reveal: { time: number } }>();
    const times: number[] = [];
    const leave = requests.answer("reveal", ({ time }) => times.push(time) > 0);
    expect(requests.request("reveal", { time: 2.5 })).toBe(true);
    leave();
    expect(requests.request("reveal", { time: 9 })).toBe(false);
    expect(times).toEqual([2.5]);
  });
});

describe("turns of work", () => {
  it("end when newer work of the same kind begins", () => {
    const turns = new Turns();
    const [first, other] = [turns.begin("dance"), turns.begin("song")];
    const second = turns.begin("dance");
    expect([first.current, second.current, other.current]).toEqual([false, true, true]);
    expect(() => first.check()).toThrow(TurnEnded);
    expect((first.signal.reason as TurnEnded).ending).toBe("replaced");
  });
  it("all end when their view is left", () => {
    const turns = new Turns();
    const some = [turns.begin("dance"), turns.begin("song")];
    turns.leave();
    expect(some.map((one) => (one.signal.reason as TurnEnded).ending)).toEqual(["left", "left"]);
  });
});

describe("a job", () => {
  const job = (state: Job["state"]) => ({ id: 7, state, title: "", done: 0, total: null, error: "", result: 1 }) as Job;
  /** Answers of the server; returns the methods of the requests that were made. */
  const server = () => {
    const asked: string[] = [];
    vi.useFakeTimers();
    vi.stubGlobal("fetch", async (_path: string, options: RequestInit = {}) => {
      asked.push(String(options.method ?? "get").toUpperCase());
      options.signal?.throwIfAborted();
      return new Response(JSON.stringify(job("running")), { headers: { "content-type": "application/json" } });
    });
    return asked;
  };

  it("is stopped on the server when newer work replaces it", async () => {
    const asked = server();
    const turns = new Turns();
    const work = finished(job("running"), () => undefined, turns.begin("dance").signal);
    turns.begin("dance");
    const ended = expect(work).rejects.toThrow(TurnEnded);
    await vi.advanceTimersByTimeAsync(1000);
    await ended;
    expect(asked).toContain("DELETE");
  });
  it("goes on when its view is left", async () => {
    const asked = server();
    const turns = new Turns();
    const work = finished(job("running"), () => undefined, turns.begin("dance").signal);
    turns.leave();
    const ended = expect(work).rejects.toThrow(TurnEnded);
    await vi.advanceTimersByTimeAsync(1000);
    await ended;
    expect(asked).not.toContain("DELETE");
  });
  it("does not report progress to those who no longer wait", async () => {
    server();
    const turns = new Turns();
    const progress = vi.fn();
    const work = finished(job("running"), progress, turns.begin("dance").signal).catch(() => undefined);
    await vi.advanceTimersByTimeAsync(100);
    turns.leave();
    progress.mockClear();
    await vi.advanceTimersByTimeAsync(1000);
    await work;
    expect(progress).not.toHaveBeenCalled();
  });
});
