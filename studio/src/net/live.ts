// The live connection: a websocket for interactive requests, answered while the mouse moves.

import type { LiveHeads } from "./types";
import { ServerError } from "./api";
import { parseMessage, type Message } from "./message";
import { tracked } from "./pending";
import { TurnEnded } from "./turns";

type LiveMessage = Message<{ id: number; error?: string; changed?: string }>;
type Waiting = { resolve: (message: never) => void; reject: (error: Error) => void };

/** A websocket that reconnects automatically.
 * Fires "connected", "disconnected", "refused" with the server's message when it rejects the connection, and "changed"
 * with what has changed in the library: "motions", "labels" or "kept" (artifacts). */
export class Live extends EventTarget {
  connected = false;
  private socket?: WebSocket;
  private waiting = new Map<number, Waiting>();
  private number = 0;
  private tries = 0;
  private reported = false;

  connect(): void {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}${location.pathname}api/live`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.connected = true;
      this.tries = 0;
      this.reported = false;
      this.dispatchEvent(new Event("connected"));
    };
    socket.onmessage = (event) => this.receive(parseMessage(event.data));
    socket.onclose = () => {
      const was = this.connected;
      this.connected = false;
      for (const one of this.waiting.values()) one.reject(new ServerError("the connection to the server was lost"));
      this.waiting.clear();
      if (was || this.tries === 0) this.dispatchEvent(new Event("disconnected"));
      if (this.tries >= 2 && !this.reported) void this.reportRefusal();
      setTimeout(() => this.connect(), Math.min(200 * 2 ** this.tries++, 3000));
    };
    this.socket = socket;
  }

  request<Kind extends keyof LiveHeads>(kind: Kind, message: object = {}): Promise<Message<LiveHeads[Kind]>> {
    if (!this.connected) return Promise.reject(new ServerError("the connection to the server was lost"));
    const id = ++this.number;
    return tracked(
      new Promise((resolve, reject) => {
        this.waiting.set(id, { resolve, reject });
        this.socket!.send(JSON.stringify({ id, kind, ...message }));
      }),
    );
  }

  /** A browser does not report why a websocket was rejected, but a plain request does. Usually the token has changed. */
  private async reportRefusal(): Promise<void> {
    const response = await fetch("api/jobs").catch(() => null);
    if (response?.status !== 403 || this.reported) return;
    this.reported = true;
    this.dispatchEvent(new CustomEvent("refused", { detail: await response.text() }));
  }

  private receive(message: LiveMessage): void {
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

/** Runs one request at a time; of the requests submitted meanwhile, it runs only the latest. */
export class Latest<Request> {
  private busy = false;
  private next?: Request;
  private draining: Promise<void> = Promise.resolve();

  constructor(private readonly run: (request: Request) => Promise<unknown>) {}

  submit(request: Request): void {
    this.next = request;
    if (!this.busy) this.draining = this.drain();
  }

  /** Resolves when all submitted requests are answered. */
  whenDone(): Promise<void> {
    return this.draining;
  }

  private async drain(): Promise<void> {
    this.busy = true;
    while (this.next !== undefined) {
      const request = this.next;
      this.next = undefined;
      try {
        await this.run(request);
      } catch (error) {
        if (!(error instanceof TurnEnded)) console.warn(error);
      }
    }
    this.busy = false;
  }
}
