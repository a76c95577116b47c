import { visible } from "./visible";

/** A path's parts; a `/` of a name is escaped in it as `\/`: docs/file-format.md. */
export function partsOf(path: string): string[] {
  return path.match(/(?:\\.|[^/\\])+/gsu) ?? [path];
}

/** A part of a path as the name that it stands for. */
export function unescaped(part: string): string {
  return part.replace(/\\(.)/gsu, (_, character: string) => (character === "e" ? "" : character));
}

/** A path as people read it: of the names as somebody wrote them. */
export function shown(path: string): string {
  return partsOf(path).map((part) => visible(unescaped(part)) || '""').join("/");
}
