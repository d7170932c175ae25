// The live line: one websocket, for what must answer while the mouse moves.

import type { LiveHeads } from "./answers";
import { ServerError } from "./api";
import { unpack, type Message } from "./message";

type LiveMessage = Message<{ id: number; error?: string; changed?: string }>;
type Waiting = { resolve: (message: never) => void; reject: (error: Error) => void };

/** A websocket that comes back after a restart of the server.
 * Fires "lost", "found", "refused" with the server's words where it is there but wants no more of us, and "changed" with
 * what somebody has changed in the library: "motions", "labels" or "kept". */
export class Live extends EventTarget {
  connected = false;
  private socket?: WebSocket;
  private waiting = new Map<number, Waiting>();
  private number = 0;
  private tries = 0;
  private told = false;

  connect(): void {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}${location.pathname}api/live`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.connected = true;
      this.tries = 0;
      this.told = false;
      this.dispatchEvent(new Event("found"));
    };
    socket.onmessage = (event) => this.take(unpack(event.data));
    socket.onclose = () => {
      const was = this.connected;
      this.connected = false;
      for (const one of this.waiting.values()) one.reject(new ServerError("the server has gone"));
      this.waiting.clear();
      if (was || this.tries === 0) this.dispatchEvent(new Event("lost"));
      if (this.tries >= 2 && !this.told) void this.askWhy();
      setTimeout(() => this.connect(), Math.min(200 * 2 ** this.tries++, 3000));
    };
    this.socket = socket;
  }

  ask<Kind extends keyof LiveHeads>(kind: Kind, message: object = {}): Promise<Message<LiveHeads[Kind]>> {
    if (!this.connected) return Promise.reject(new ServerError("the server has gone"));
    const id = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.socket!.send(JSON.stringify({ id, kind, ...message }));
    });
  }

  /** A browser does not tell why a socket was refused; a plain request does: a new token, mostly. */
  private async askWhy(): Promise<void> {
    const response = await fetch("api/jobs").catch(() => null);
    if (response?.status !== 403 || this.told) return;
    this.told = true;
    this.dispatchEvent(new CustomEvent("refused", { detail: await response.text() }));
  }

  private take(message: LiveMessage): void {
    if (message.meta.changed) {
      this.dispatchEvent(new CustomEvent("changed", { detail: message.meta.changed }));
      return;
    }
    const one = this.waiting.get(message.meta.id);
    this.waiting.delete(message.meta.id);
    if (message.meta.error) one?.reject(new ServerError(message.meta.error));
    else one?.resolve(message as never);
  }
}

/** At most one request in flight; of those that come meanwhile, only the latest is sent. */
export class Latest<Asked> {
  private busy = false;
  private next?: Asked;
  private draining: Promise<void> = Promise.resolve();

  constructor(private readonly run: (asked: Asked) => Promise<unknown>) {}

  ask(asked: Asked): void {
    this.next = asked;
    if (!this.busy) this.draining = this.drain();
  }

  /** When everything that was asked is answered. */
  whenDone(): Promise<void> {
    return this.draining;
  }

  private async drain(): Promise<void> {
    this.busy = true;
    while (this.next !== undefined) {
      const asked = this.next;
      this.next = undefined;
      try {
        await this.run(asked);
      } catch (error) {
        console.warn(error);
      }
    }
    this.busy = false;
  }
}
