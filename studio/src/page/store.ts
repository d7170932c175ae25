// State with typed keys, and requests that one part of the page makes of another.

/** Keys with values, and functions that are called after some of them have changed. */
export class Store<State extends object> {
  private current: Readonly<State>;
  private readonly watchers = new Set<{ keys: readonly (keyof State)[]; call: () => void }>();

  constructor(initial: State) {
    this.current = initial;
  }

  get state(): Readonly<State> {
    return this.current;
  }

  /** Change some keys. Each function that watches one of them is called once; a value that stays the same (the same
   * object) is not a change. */
  set(changes: Partial<State>): void {
    const before = this.current;
    const after = { ...before, ...changes };
    const changed = (Object.keys(changes) as (keyof State)[]).filter((key) => !Object.is(before[key], after[key]));
    if (!changed.length) return;
    this.current = after;
    for (const watcher of [...this.watchers]) {
      if (!this.watchers.has(watcher)) continue; // ended by one that was called before
      if (changed.some((key) => watcher.keys.includes(key))) safely(watcher.call);
    }
  }

  /** Call a function after any of the keys has changed. Returns a function that ends this. */
  watch(keys: readonly (keyof State)[], call: () => void): () => void {
    const watcher = { keys, call };
    this.watchers.add(watcher);
    return () => void this.watchers.delete(watcher);
  }
}

/** Requests by kind, such as "undo": the first part of the page that can answer one does so. */
export class Requests<Kinds extends object> {
  private readonly parts: { kind: keyof Kinds; answer: (detail: never) => boolean }[] = [];

  /** Answer requests of a kind; `answer` returns true if it did. Returns a function that ends this. */
  answer<Kind extends keyof Kinds>(kind: Kind, answer: (detail: Kinds[Kind]) => boolean): () => void {
    const part = { kind, answer };
    this.parts.push(part);
    return () => {
      const at = this.parts.indexOf(part);
      if (at >= 0) this.parts.splice(at, 1);
    };
  }

  /** Make a request; true if a part of the page has answered it. */
  request<Kind extends keyof Kinds>(kind: Kind, detail: Kinds[Kind]): boolean {
    return [...this.parts].some((part) => part.kind === kind && safely(() => part.answer(detail as never)) === true);
  }
}

/** A part of the page that fails does not stop the others. */
function safely<Result>(call: () => Result): Result | undefined {
  try {
    return call();
  } catch (error) {
    reportError(error);
    return undefined;
  }
}
