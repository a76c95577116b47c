import * as format from "../format";
import type { Boxes } from "../icicle";
import { colorOf } from "../palette";
import type { State } from "../state";
import { theme } from "../theme";
import { BoxCanvas, LONGEST_NAME, useBoxes } from "./BoxCanvas";

/** The tree as boxes: as wide as the time in them, what they consist of below. */
export function Icicle({ state }: { state: State }) {
  const boxes = useBoxes(state.tree);
  return (
    <>
      <BoxCanvas
        tree={state.tree}
        boxes={boxes}
        whole="the whole run"
        label="The tree as boxes: arrows move, Enter zooms in, Escape zooms out, Space shows the details"
        zoomed={state.zoomed}
        selected={state.selected}
        fill={(index, of) => ({ color: colorOf(state.tree.places[index]!.category, of) })}
        said={(index) => said(state, boxes, index)}
      />
      <Legend state={state} />
    </>
  );
}

function Legend({ state }: { state: State }) {
  return (
    <p class="legend">
      {[...state.view.categories, null].map((category) => (
        <span key={category}>
          <i style={{ background: colorOf(category, theme.value) }} />
          {category ?? "other"}
        </span>
      ))}
      <span class="hint">Width: own time of all threads together. Click to zoom, again to go back; double-click for details.</span>
    </p>
  );
}

function said(state: State, boxes: Boxes, index: number): string {
  const { node, name, category } = state.tree.places[index]!;
  const part = format.share(boxes.size[0]! ? boxes.size[index]! / boxes.size[0]! : null);
  if (!index) return `the whole run: ${format.time(boxes.size[0])} in all threads`;
  const pieces = [
    `${name.slice(0, LONGEST_NAME)}: ${format.time(boxes.size[index])}, ${part} of all`,
    `own ${format.time(node.self_ns)}`,
    `${format.count(node.count)} calls`,
    ...(node.mean_ns === null ? [] : [`mean ${format.time(node.mean_ns)}`]),
    ...(category ? [category] : []),
  ];
  return pieces.join(" · ");
}
