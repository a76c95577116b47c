/** A part of a tick, beside what it usually takes. Own times: they add up to the tick. */
export interface Part {
  path: string;
  /** All that the tick spent in it, sections below included. */
  tookNs: number;
  usualNs: number;
  depth: number;
}

/** A kept tick's sections in the order of the tree, parents first, the longest of siblings first. */
export function partsOf(loopPath: string, breakdown: Record<string, number>, usual: Record<string, number>): Part[] {
  const below = new Map<string, string[]>();
  const paths = new Set(Object.keys(breakdown));
  for (const path of paths) {
    const parent = parentOf(path, loopPath, paths);
    below.set(parent, [...(below.get(parent) ?? []), path]);
  }
  const parts: Part[] = [];
  const waiting = [{ path: loopPath, depth: -1 }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { path, depth } = next;
    if (depth >= 0) parts.push({ path, depth, tookNs: breakdown[path]!, usualNs: usual[path] ?? 0 });
    const children = (below.get(path) ?? []).sort((left, right) => breakdown[left]! - breakdown[right]!);
    waiting.push(...children.map((child) => ({ path: child, depth: depth + 1 })));
  }
  return parts;
}

/** The nearest section above that the tick was in; a `/` of a name is escaped in paths, so none is cut in two. */
function parentOf(path: string, loopPath: string, paths: Set<string>): string {
  for (let at = lastSlash(path, path.length); at > loopPath.length; at = lastSlash(path, at)) {
    if (paths.has(path.slice(0, at))) return path.slice(0, at);
  }
  return loopPath;
}

function lastSlash(path: string, before: number): number {
  return path.lastIndexOf("/", before - 1);
}
