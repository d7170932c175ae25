// Identity of work: a newer piece of work replaces the older one, whose late answers are dropped.

/** Why work ended early: "replaced" by newer work of the same kind, or its view was "left". */
export type Ending = "replaced" | "left";

/** Thrown by requests and jobs whose turn has ended; never shown to the user. */
export class TurnEnded extends Error {
  constructor(readonly ending: Ending) {
    super(`the work was ${ending}`);
  }
}

/** One piece of work. */
export class Turn {
  private readonly controller = new AbortController();

  /** For the requests of this turn. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** False once newer work has begun, or the view was left. */
  get current(): boolean {
    return !this.signal.aborted;
  }

  /** Throw if the turn has ended, so that nothing after this is done. */
  check(): void {
    this.signal.throwIfAborted();
  }

  end(ending: Ending): void {
    this.controller.abort(new TurnEnded(ending));
  }
}

/** Pieces of work by kind: one of each kind at a time. */
export class Turns {
  private readonly running = new Map<string, Turn>();

  /** Begin work; work of the same kind ends. */
  begin(kind: string): Turn {
    this.end(kind);
    const turn = new Turn();
    this.running.set(kind, turn);
    return turn;
  }

  /** End the work of a kind. */
  end(kind: string, ending: Ending = "replaced"): void {
    this.running.get(kind)?.end(ending);
    this.running.delete(kind);
  }

  /** End all work, because its view was left. */
  leave(): void {
    for (const kind of [...this.running.keys()]) this.end(kind, "left");
  }
}
