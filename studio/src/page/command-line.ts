// Words for a terminal and for Python, so that a copied line means what it says.

/** A word that a shell takes as it is. */
export function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}

/** A text as Python writes it. */
export function literal(text: string): string {
  return JSON.stringify(text);
}
