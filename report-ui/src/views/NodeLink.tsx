import type { State } from "../state";
import { shownPath } from "../tree";
import { visible } from "../visible";

interface Props {
  state: State;
  path: string;
  name?: string | null;
}

/** A node's name, which opens its details. */
export function NodeLink({ state, path, name }: Props) {
  const item = state.tree.items[state.tree.indexByPath.get(path) ?? 0]!;
  // At the top level, the path is the name, with escapes.
  const text = visible(name ?? (item.depth === 1 ? item.name : shownPath(state.tree, path))) || "outside all sections";
  if (!item.depth) return <bdi class="node">{text}</bdi>;
  return (
    <button type="button" class="node" title={path.length < 300 ? visible(path) : ""} onClick={() => state.show(path)}>
      <bdi>{text}</bdi>
    </button>
  );
}
