import { visible } from "./visible";

/** A path's parts; a `/` of a name is escaped in it as `\/`: docs/file-format.md. */
export function partsOf(path: string): string[] {
  return path.match(/(?:\\.|[^/\\])+/gsu) ?? [path];
}

/** The name in a part of a path. */
export function unescaped(part: string): string {
  return part.replace(/\\(.)/gsu, (_, character: string) => (character === "e" ? "" : character));
}

/** A path for people, with unescaped names. */
export function readablePath(path: string): string {
  return partsOf(path).map((part) => visible(unescaped(part)) || '""').join("/");
}

/** The words of a search. */
export function wordsOf(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

export function containsAll(text: string, words: readonly string[]): boolean {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
}
