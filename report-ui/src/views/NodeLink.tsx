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
  const place = state.tree.places[state.tree.at.get(path) ?? 0]!;
  // Where there is nothing above it, its path is its name with what a path escapes.
  const text = visible(name ?? (place.depth === 1 ? place.name : shownPath(state.tree, path))) || "outside all sections";
  if (!place.depth) return <bdi class="node">{text}</bdi>;
  return (
    <button type="button" class="node" title={path.length < 300 ? visible(path) : ""} onClick={() => state.show(path)}>
      <bdi>{text}</bdi>
    </button>
  );
}
