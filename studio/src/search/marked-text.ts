// Words of a caption that answer a search, marked.

import { html } from "lit";

/** Mark some characters of a string. */
export function markedText(text: string, spans: readonly (readonly number[])[]) {
  if (!text) return "";
  const parts: unknown[] = [];
  let at = 0;
  for (const [start, end] of spans) {
    parts.push(text.slice(at, start), html`<mark>${text.slice(start, end)}</mark>`);
    at = end;
  }
  parts.push(text.slice(at));
  return html`${parts}`;
}
