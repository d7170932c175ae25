// Quoting for command lines and Python code.

/** A string as one word of a POSIX shell, quoted if necessary. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}

/** A string as a Python literal. */
export function pythonLiteral(text: string): string {
  return JSON.stringify(text);
}
