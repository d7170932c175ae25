// Work under way: requests to the server, jobs that are waited for, sounds that are decoded.

let count = 0;

/** Count a promise as work under way until it is settled. */
export async function tracked<Result>(work: Promise<Result>): Promise<Result> {
  count++;
  try {
    return await work;
  } finally {
    count--;
  }
}

/** How many tracked promises are not settled yet. */
export function pendingCount(): number {
  return count;
}
