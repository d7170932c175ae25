// Entries of the command palette: what can be done, found by typing parts of their words.

export interface Entry {
  title: string;
  /** What it is: "verb", "view", "take", "label", "setting" or "key". */
  kind: string;
  /** More words to find it by, which are not shown. */
  also?: string;
  run: () => void;
}

/** Entries whose words begin with or contain every word of the text, the best first. */
export function matching(entries: readonly Entry[], text: string, most: number): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const scored = entries.flatMap((entry, place) => {
    const score = scoreOf(entry, words);
    return score === null ? [] : [{ entry, score, place }];
  });
  return scored
    .sort((a, b) => b.score - a.score || a.place - b.place)
    .slice(0, most)
    .map(({ entry }) => entry);
}

/** Null if a word is missing. A title that begins with the text counts most, then words that begin with a typed one. */
function scoreOf({ title, kind, also = "" }: Entry, words: readonly string[]): number | null {
  const shown = title.toLowerCase();
  const all = `${shown} ${kind} ${also.toLowerCase()}`;
  let score = 0;
  for (const word of words) {
    if (!all.includes(word)) return null;
    if (startsAWord(shown, word)) score += 2;
    else if (shown.includes(word)) score += 1;
  }
  if (words.length && shown.startsWith(words[0])) score += 2;
  return words.length ? score - title.length / 1000 : 0; // of equals, the shorter
}

function startsAWord(text: string, part: string): boolean {
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1))
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return true;
  return false;
}
