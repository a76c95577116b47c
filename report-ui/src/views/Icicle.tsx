import { useMemo } from "preact/hooks";
import * as format from "../format";
import { type Boxes, boxesOf, boxesOfTick } from "../icicle";
import { colorOf, SAMPLED, shaded, type Theme } from "../palette";
import type { State } from "../state";
import { ink, theme } from "../theme";
import type { Place } from "../tree";
import type { MeanTick } from "../types";
import { BoxCanvas, type Fill, LONGEST_NAME } from "./BoxCanvas";

const WHOLE = "the whole run, all threads";

/** The mean tick of a loop as boxes, or the whole run: as wide as the time in them, what they consist of below. */
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
          {state.view.mean_ticks.map((one) => (
            <option key={one.path} value={one.path}>
              {one.title}, {format.time(one.tick_ns)}
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
        whole={tick ? tick.title : "the whole run"}
        label="A tick as boxes: arrows move, Enter zooms in, Escape zooms out, Space shows the details"
        home={state.home.value}
        zoomed={state.zoomed}
        selected={state.selected}
        fill={(index, of) => fillOf(state.tree.places[index]!, of)}
        describe={(index) => describe(state, boxes, tick, index)}
      />
      <Legend state={state} />
    </>
  );
}

function fillOf({ kind, category, whole }: Place, of: Theme): Fill {
  if (kind === "self") return { color: ink("raised") };
  return kind === "sampled" ? { color: SAMPLED[of], hatched: true } : { color: shaded(colorOf(category, of), whole) };
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
  const { kind, name, whole, category, text } = state.tree.places[index]!;
  const home = boxes.size[state.home.value]!;
  const ns = boxes.size[index]!;
  if (index === state.home.value) return `${tick ? tick.title : WHOLE}: ${format.time(ns)}`;
  const pieces = [
    `${(whole.length > LONGEST_NAME ? name : whole).slice(0, LONGEST_NAME)}: ${format.time(ns)}, ${format.share(home ? ns / home : null)}${tick ? "" : " of all"}`,
    ...(text ? [`sampled, ${text}`] : []),
    ...(kind === "self" ? [] : [`self ${format.time(boxes.self[index]!)}`]),
    ...(state.view.notes[index] ?? []).slice(0, 1),
    ...(category && kind === "section" ? [category] : []),
  ];
  return pieces.join(" · ");
}
