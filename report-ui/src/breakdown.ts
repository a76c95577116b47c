/** A part of a tick, and its usual time. */
export interface Part {
  path: string;
  /** Whether it is the self time of a section or of the tick, which always has a row. */
  isSelf: boolean;
  /** The time of the tick in it, including its children. */
  tookNs: number;
  usualNs: number;
  depth: number;
  /** Whether it takes far longer than usual, and nothing below it explains that. */
  isCulprit: boolean;
}

// A part that takes this many times its usual time, and has this share of the tick's excess.
const UNUSUAL = 1.5;
const MIN_EXCESS = 0.1;
// A child explains a part if it has this share of its excess.
const EXPLAINED = 0.5;

/** A tick's sections in tree order, parents first, the longest of siblings first, self time last. */
export function partsOf(
  loopPath: string,
  tick: { took: number; usual: number; breakdown: Record<string, number> },
  usual: Record<string, number>,
): Part[] {
  const { breakdown } = tick;
  const childrenByPath = new Map<string, string[]>();
  const paths = new Set(Object.keys(breakdown));
  for (const path of paths) {
    const parent = parentOf(path, loopPath, paths);
    childrenByPath.set(parent, [...(childrenByPath.get(parent) ?? []), path]);
  }
  const tookOf = (path: string) => (path === loopPath ? tick.took : breakdown[path]!);
  const usualOf = (path: string) => (path === loopPath ? tick.usual : (usual[path] ?? 0));
  const minNs = MIN_EXCESS * Math.max(1, tick.took - tick.usual);
  const part = (path: string, depth: number, isSelf: boolean, tookNs: number, usualNs: number, inner: number): Part => {
    const excess = tookNs - usualNs;
    return { path, isSelf, depth, tookNs, usualNs, isCulprit: tookNs > UNUSUAL * usualNs && excess >= minNs && inner < EXPLAINED * excess };
  };
  const parts: Part[] = [];
  const stack: { path: string; depth: number; self?: true }[] = [{ path: loopPath, depth: -1 }];
  for (let entry = stack.pop(); entry; entry = stack.pop()) {
    const { path, depth } = entry;
    const children = (childrenByPath.get(path) ?? []).sort((left, right) => breakdown[left]! - breakdown[right]!);
    const ownNs = tookOf(path) - sumOf(children, tookOf);
    const usualOwnNs = Math.max(0, usualOf(path) - sumOf(children, usualOf));
    if (entry.self) {
      if (ownNs > 0) parts.push(part(path, depth, true, ownNs, usualOwnNs, 0));
      continue;
    }
    const inner = Math.max(0, ownNs - usualOwnNs, ...children.map((child) => tookOf(child) - usualOf(child)));
    if (depth >= 0) parts.push(part(path, depth, false, tookOf(path), usualOf(path), children.length ? inner : 0));
    if (children.length) stack.push({ path, depth: depth + 1, self: true });
    stack.push(...children.map((child) => ({ path: child, depth: depth + 1 })));
  }
  return parts;
}

function sumOf(paths: readonly string[], ns: (path: string) => number): number {
  return paths.reduce((sum, path) => sum + ns(path), 0);
}

/** The nearest ancestor in the tick's breakdown; a `/` in a name is escaped in paths, so no name is split. */
function parentOf(path: string, loopPath: string, paths: Set<string>): string {
  for (let end = lastSlash(path, path.length); end > loopPath.length; end = lastSlash(path, end)) {
    if (paths.has(path.slice(0, end))) return path.slice(0, end);
  }
  return loopPath;
}

function lastSlash(path: string, before: number): number {
  return path.lastIndexOf("/", before - 1);
}
