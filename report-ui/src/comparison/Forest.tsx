import { useEffect, useRef } from "preact/hooks";
import * as format from "../format";
import { useWindow } from "../views/useWindow";
import { visible } from "../visible";
import { Sides } from "./ComparisonPage";
import { Interval } from "./Interval";
import { type Scale, scaleOf } from "./scale";
import { type ComparisonState, isTelling, type Line, type Order } from "./state";
import type { Entry } from "./types";
import { classOf, interval, shift, signed } from "./words";

// As high as runs.css says that a line is.
const LINE_PX = 28;
const INDENT_PX = 16;
const DEEPEST = 14;
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
  const body = useRef<HTMLDivElement>(null);
  const { from, to } = useWindow(body, lines.length, LINE_PX);
  return (
    <>
      <Tools state={state} />
      <div class="forest" role="table" aria-label="Sections" aria-rowcount={lines.length + 1}>
        <div class="heads" role="row">
          <div class="name" role="columnheader">section</div>
          <div class="verdict-word" role="columnheader">verdict</div>
          <div class="plot-cell" role="columnheader"><Axis scale={scale} /></div>
          <div class="shift" role="columnheader">shift</div>
          <div class="range" role="columnheader">interval</div>
          <div class="base" role="columnheader">base</div>
          <div class="new" role="columnheader">new</div>
        </div>
        <div ref={body} class="lines" role="rowgroup" style={{ height: `${lines.length * LINE_PX}px` }}>
          <div style={{ transform: `translateY(${from * LINE_PX}px)` }}>
            {lines.slice(from, to).map((line, at) => (
              <OfEntry key={line.entry.path} state={state} line={line} place={from + at} scale={scale} threshold={threshold} />
            ))}
          </div>
        </div>
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
      <input
        type="search"
        placeholder="Search"
        aria-label="Search sections"
        value={state.query.value}
        onInput={(event) => (state.query.value = event.currentTarget.value)}
      />
      <div class="switch" role="group" aria-label="Which sections">
        <button type="button" aria-pressed={!state.all.value} onClick={() => (state.all.value = false)}>
          those that differ
        </button>
        <button type="button" aria-pressed={state.all.value} onClick={() => (state.all.value = true)}>
          all
        </button>
      </div>
      <div class="switch" role="group" aria-label="In which order">
        {ORDERS.map(([order, title]) => (
          <button type="button" key={order} aria-pressed={state.order.value === order} onClick={() => (state.order.value = order)}>
            {title}
          </button>
        ))}
      </div>
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
        <span key={tick} style={{ left: `${100 * scale.at(tick)}%` }}>
          {tick ? signed(tick).replace(".0%", "%") : "0"}
        </span>
      ))}
    </div>
  );
}

interface Props {
  state: ComparisonState;
  line: Line;
  place: number;
  scale: Scale;
  threshold: number;
}

function OfEntry({ state, line, place, scale, threshold }: Props) {
  const { entry, name, depth } = line;
  const open = () => (state.opened.value = entry.path);
  return (
    <div
      class={`line section${state.opened.value === entry.path ? " selected" : ""}`}
      role="row"
      tabIndex={place ? -1 : 0}
      aria-rowindex={place + 2}
      onClick={open}
      onKeyDown={(event) => steer(event, open)}
    >
      <div class="name" role="cell" style={{ paddingLeft: `${Math.min(depth, DEEPEST) * INDENT_PX}px` }}>
        <bdi>{name}</bdi>
        {entry.renamed && <span class="notes">like {visible(entry.renamed)}: renamed?</span>}
      </div>
      <div class={`verdict-word ${classOf(entry.verdict)}`} role="cell">{entry.verdict}</div>
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
  const beside = { ArrowDown: line.nextElementSibling, ArrowUp: line.previousElementSibling }[event.key];
  if (event.key === "Enter") open();
  else if (beside) (beside as HTMLElement).focus();
  else return;
  event.preventDefault();
}

/** All that is known of one section, beside the page. */
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
        <bdi>{visible(entry.path)}</bdi>
      </h2>
      <p class={`opened ${classOf(entry.verdict)}`}>
        <b>{entry.verdict}</b> {shift(entry)}
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
    <div class="scroll">
      <Sides entry={entry} />
      {entry.renamed && <p class="hint">Like {visible(entry.renamed)}, which only the other side has: renamed?</p>}
    </div>
  );
}
