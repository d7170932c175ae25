// Quoting for command lines and Python code.

/** A text as one word of a POSIX shell, quoted if needed. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}

/** A text as a Python string literal. */
export function pythonLiteral(text: string): string {
  return JSON.stringify(text);
}
