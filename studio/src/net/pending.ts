// Pending work: requests to the server, jobs, and sounds being decoded.

let count = 0;

/** Count a promise as pending work until it is settled. */
export async function tracked<Result>(work: Promise<Result>): Promise<Result> {
  count++;
  try {
    return await work;
  } finally {
    count--;
  }
}

/** Number of tracked promises that are not settled yet. */
export function pendingCount(): number {
  return count;
}
