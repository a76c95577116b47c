import { useEffect } from "preact/hooks";
import * as format from "../format";
import { Choice } from "../parts/Choice";
import { indentation } from "../parts/lines";
import { Rows } from "../parts/Rows";
import { Scrollable } from "../parts/Scrollable";
import { Search } from "../parts/Search";
import { readablePath } from "../path";
import { Interval } from "./Interval";
import { type Scale, scaleOf } from "./scale";
import { Sides } from "./Sides";
import { type ComparisonState, isTelling, type Line, type Order } from "./state";
import type { Entry } from "./types";
import { classOf, interval, shift, verdictText, signed } from "./words";

const DEEPEST = 14;
const WHICH: readonly (readonly [all: boolean, title: string])[] = [
  [false, "those that differ"],
  [true, "all"],
];
const ORDERS: readonly (readonly [order: Order, title: string])[] = [
  ["tree", "as the tree"],
  ["shift", "largest shift"],
  ["time", "most time"],
];

/** Every section with its verdict, its shift and the interval, one below the other on one scale. */
export function Forest({ state }: { state: ComparisonState }) {
  const lines = state.lines.value;
  const { threshold_percent: threshold } = state.payload.comparison;
  const scale = scaleOf(lines.map((line) => line.entry), threshold);
  return (
    <>
      <Tools state={state} />
      <div class="forest" role="table" aria-label="Sections" aria-rowcount={lines.length + 1}>
        <div class="heads" role="row">
          <div class="name" role="columnheader">section</div>
          <div class="verdict-word" role="columnheader">verdict</div>
          <div class="plot-cell" role="cell"><Axis scale={scale} /></div>
          <div class="shift" role="columnheader">shift</div>
          <div class="range" role="columnheader">interval</div>
          <div class="base" role="columnheader">base</div>
          <div class="new" role="columnheader">new</div>
        </div>
        <Rows rows={lines}>
          {(line, index) => (
            <EntryLine key={line.entry.path} state={state} line={line} index={index} scale={scale} threshold={threshold} />
          )}
        </Rows>
      </div>
      {!lines.length && <p class="hint">No section has that in its name.</p>}
      <Opened state={state} />
    </>
  );
}

function Tools({ state }: { state: ComparisonState }) {
  const hidden = state.nodes.filter((entry) => !isTelling(entry)).length;
  return (
    <div class="tools">
      <Search query={state.query} />
      <Choice label="Which sections" options={WHICH} value={state.all.value} onChoose={(all) => (state.all.value = all)} />
      <Choice label="In which order" options={ORDERS} value={state.order.value} onChoose={(order) => (state.order.value = order)} />
      {!state.all.value && hidden > 0 && (
        <span class="hint">{format.count(hidden)} without a clear difference not shown</span>
      )}
    </div>
  );
}

function Axis({ scale }: { scale: Scale }) {
  return (
    <div class="axis" aria-hidden="true">
      {scale.ticks.map((tick) => (
        <span key={tick} style={{ left: `${100 * scale.position(tick)}%` }}>
          {tick ? signed(tick).replace(".0%", "%") : "0"}
        </span>
      ))}
    </div>
  );
}

interface Props {
  state: ComparisonState;
  line: Line;
  index: number;
  scale: Scale;
  threshold: number;
}

function EntryLine({ state, line, index, scale, threshold }: Props) {
  const { entry, name, depth } = line;
  const open = () => (state.opened.value = entry.path);
  return (
    <div
      class={`line section${state.opened.value === entry.path ? " selected" : ""}`}
      role="row"
      tabIndex={index ? -1 : 0}
      aria-rowindex={index + 2}
      onClick={open}
      onKeyDown={(event) => steer(event, open)}
    >
      <div class="name" role="cell" style={indentation(depth, DEEPEST)}>
        <bdi>{name}</bdi>
        {entry.renamed && <span class="notes">like {readablePath(entry.renamed)}: renamed?</span>}
      </div>
      <div class={`verdict-word ${classOf(entry.verdict)}`} role="cell">{verdictText(entry.verdict)}</div>
      <div class="plot-cell" role="cell">
        <Interval entry={entry} scale={scale} threshold={threshold} />
      </div>
      <div class={`shift ${classOf(entry.verdict)}`} role="cell">{shift(entry)}</div>
      <div class="range" role="cell">{interval(entry)}</div>
      <div class="base" role="cell">{format.time(entry.base_mean_ns)}</div>
      <div class="new" role="cell">{format.time(entry.new_mean_ns)}</div>
    </div>
  );
}

function steer(event: KeyboardEvent, open: () => void): void {
  const line = event.currentTarget as HTMLElement;
  const sibling = { ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling }[event.key];
  if (event.key === "Enter") open();
  else if (sibling) (sibling as HTMLElement).focus();
  else return;
  event.preventDefault();
}

/** Everything about one section, in a panel next to the page. */
function Opened({ state }: { state: ComparisonState }) {
  const path = state.opened.value;
  useEffect(() => {
    const close = (event: KeyboardEvent) => event.key === "Escape" && (state.opened.value = null);
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, []);
  const entry = path === null ? undefined : state.byPath.get(path);
  if (!entry) return null;
  return (
    <aside class="details" aria-label="Details of a section">
      <button type="button" class="plain close" aria-label="Close" onClick={() => (state.opened.value = null)}>
        ✕
      </button>
      <h2>
        <bdi>{readablePath(entry.path)}</bdi>
      </h2>
      <p class={`opened ${classOf(entry.verdict)}`}>
        <b>{verdictText(entry.verdict)}</b> {shift(entry)}
      </p>
      <p class="pieces">
        <span>{interval(entry)}</span>
      </p>
      <Numbers entry={entry} />
    </aside>
  );
}

function Numbers({ entry }: { entry: Entry }) {
  return (
    <Scrollable label="Both sides">
      <Sides entry={entry} />
      {entry.renamed && <p class="hint">Like {readablePath(entry.renamed)}, which only the other side has: renamed?</p>}
    </Scrollable>
  );
}
