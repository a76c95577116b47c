import * as format from "../format";
import type { Boxes } from "../icicle";
import { Choice } from "../parts/Choice";
import { theme } from "../theme";
import { BoxCanvas, LONGEST_NAME, useBoxes } from "../views/BoxCanvas";
import { colorOfChange } from "./colors";
import type { ComparisonState, Which } from "./state";
import type { Verdict } from "./types";
import { between, interval, shift, verdictText, signed } from "./words";

const WIDTHS: readonly (readonly [side: Which, title: string])[] = [
  ["base", "as wide as in base"],
  ["new", "as wide as in new"],
];
const LEGEND: readonly (readonly [verdict: Verdict, percent: number | null, title: string])[] = [
  ["faster", -50, "half as long"],
  ["faster", -9, signed(-9)],
  ["no difference", 0, "no difference"],
  ["slower", 10, signed(10)],
  ["slower", 100, "twice as long"],
];

/** The tree as boxes, as wide as the time of one side, in the colour of the change. */
export function DiffIcicle({ state }: { state: ComparisonState }) {
  const tree = state.tree.value;
  const boxes = useBoxes(tree);
  const side = state.side.value;
  const turn = (to: Which) => {
    state.zoomed.value = 0;
    state.side.value = to;
  };
  return (
    <>
      <div class="tools">
        <Choice label="Whose time is the width" options={WIDTHS} value={side} onChoose={turn} />
      </div>
      <BoxCanvas
        tree={tree}
        boxes={boxes}
        rootTitle={`all steady calls of ${side}`}
        label="The change of each section as boxes: arrows move, Enter zooms in, Escape zooms out"
        zoomed={state.zoomed}
        selected={state.selected}
        fill={(index, theme) => {
          const entry = state.byPath.get(tree.items[index]!.node.path)!;
          return {
            color: colorOfChange(entry.verdict, entry.shift_percent, theme),
            hatched: entry.verdict === "inconclusive",
            more: entry.shift_percent === null ? verdictText(entry.verdict) : `${shift(entry)} (${interval(entry)})`,
          };
        }}
        describe={(index) => describe(state, boxes, index)}
      />
      <p class="legend">
        {LEGEND.map(([verdict, percent, title]) => (
          <span key={title}>
            <i style={{ background: colorOfChange(verdict, percent, theme.value) }} />
            {title}
          </span>
        ))}
        <span>
          <i class="hatched" />
          cannot tell
        </span>
        <span>
          <i style={{ background: colorOfChange("only in new", null, theme.value) }} />
          only on one side
        </span>
        <span class="hint">Width: time of steady calls. Click to zoom, again to go back.</span>
      </p>
    </>
  );
}

function describe(state: ComparisonState, boxes: Boxes, index: number): string {
  if (!index) return `all steady calls: ${format.time(boxes.size[0])} in all threads`;
  const { node, name } = state.tree.value.items[index]!;
  const entry = state.byPath.get(node.path)!;
  return [
    name.slice(0, LONGEST_NAME),
    verdictText(entry.verdict),
    ...(entry.shift_percent === null ? [] : [`${shift(entry)}, ${between(entry)}`]),
    format.change(format.time(entry.base_mean_ns), format.time(entry.new_mean_ns)),
    `${format.count(entry.base.count)} and ${format.count(entry.new.count)} calls`,
  ].join(" · ");
}
