import type { State } from "../state";
import { visible } from "../visible";

interface Props {
  state: State;
  path: string;
  name?: string | null;
}

/** A node's name, which shows all that is known of it. */
export function NodeLink({ state, path, name }: Props) {
  const text = visible(name ?? path) || "outside all sections";
  if (!state.tree.at.get(path)) return <bdi class="node">{text}</bdi>;
  return (
    <button type="button" class="node" title={text.length < 300 ? text : ""} onClick={() => state.show(path)}>
      <bdi>{text}</bdi>
    </button>
  );
}
