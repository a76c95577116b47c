import { useMemo } from "preact/hooks";
import * as format from "../format";
import { type Boxes, boxesOf, boxesOfTick } from "../icicle";
import { colorOf, SAMPLED, shaded, type Theme } from "../palette";
import type { State } from "../state";
import { ink, theme } from "../theme";
import type { TreeItem } from "../tree";
import type { MeanTick } from "../types";
import { BoxCanvas, type Fill, LONGEST_NAME } from "./BoxCanvas";

const WHOLE = "the whole run, all threads";

/** The mean tick of a loop, or the whole run, as boxes as wide as their time, with their children below. */
export function Icicle({ state }: { state: State }) {
  const tick = state.tick.value;
  const boxes = useMemo(() => (tick ? boxesOfTick(state.tree, tick) : boxesOf(state.tree)), [tick]);
  return (
    <>
      <div class="tools">
        <select
          aria-label="Loop or run drawn as boxes"
          value={tick?.path ?? WHOLE}
          onChange={(event) => state.draw(event.currentTarget.value === WHOLE ? null : event.currentTarget.value)}
        >
          {state.view.mean_ticks.map((meanTick) => (
            <option key={meanTick.path} value={meanTick.path}>
              {meanTick.title}, {format.time(meanTick.tick_ns)}
            </option>
          ))}
          <option value={WHOLE}>{WHOLE}</option>
        </select>
        <span class="hint">Click for details, double-click to zoom. Width: time on the loop's path.</span>
      </div>
      <BoxCanvas
        key={tick?.path ?? WHOLE}
        tree={state.tree}
        boxes={boxes}
        rootTitle={tick ? tick.title : "the whole run"}
        label="A tick as boxes: arrows move, Enter zooms in, Escape zooms out, Space shows the details"
        home={state.home.value}
        zoomed={state.zoomed}
        selected={state.selected}
        fill={(index, colors) => fillOf(state.tree.items[index]!, colors)}
        describe={(index) => describe(state, boxes, tick, index)}
      />
      <Legend state={state} />
    </>
  );
}

function fillOf({ kind, category, fullName }: TreeItem, theme: Theme): Fill {
  if (kind === "self") return { color: ink("raised") };
  return kind === "sampled" ? { color: SAMPLED[theme], hatched: true } : { color: shaded(colorOf(category, theme), fullName) };
}

function Legend({ state }: { state: State }) {
  return (
    <p class="legend">
      {state.view.sampled.length > 0 && (
        <span>
          <i class="hatched" style={{ "--of": SAMPLED[theme.value] }} />
          sampled
        </span>
      )}
      {[...state.view.categories, null].map((category) => (
        <span key={category}>
          <i style={{ background: colorOf(category, theme.value) }} />
          {category ?? "other"}
        </span>
      ))}
    </p>
  );
}

function describe(state: State, boxes: Boxes, tick: MeanTick | null, index: number): string {
  const { kind, name, fullName, category, text } = state.tree.items[index]!;
  const home = boxes.size[state.home.value]!;
  const ns = boxes.size[index]!;
  if (index === state.home.value) return `${tick ? tick.title : WHOLE}: ${format.time(ns)}`;
  const pieces = [
    `${(fullName.length > LONGEST_NAME ? name : fullName).slice(0, LONGEST_NAME)}: ${format.time(ns)}, ${format.share(home ? ns / home : null)}${tick ? "" : " of all"}`,
    ...(text ? [`sampled, ${text}`] : []),
    ...(kind === "self" ? [] : [`self ${format.time(boxes.self[index]!)}`]),
    ...(state.view.notes[index] ?? []).slice(0, 1),
    ...(category && kind === "section" ? [category] : []),
  ];
  return pieces.join(" · ");
}
