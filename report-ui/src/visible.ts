// Controls, invisible formats, surrogates, what is not assigned, and every space but the plain one.
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;
const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Names that are safe to show, as in outputs/writing/visible.py: no cursor movements, reversed text or invisible characters. */
export function visible(text: string): string {
  return text.replace(HIDDEN, escaped);
}

function escaped(character: string): string {
  const code = character.codePointAt(0)!;
  const hex = code.toString(16);
  if (SHORT[character]) return SHORT[character];
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}
