import { useEffect, useRef } from "preact/hooks";
import type { Column, Row } from "../rows";
import type { State } from "../state";
import type { Phase } from "../tree";
import { Line } from "./Line";
import { useWindow } from "./useWindow";

const HEADS: readonly (readonly [column: Column, title: string, about: string])[] = [
  ["name", "section", ""],
  ["share", "share", "of the parent's time, over the whole run"],
  ["total", "total", "over the whole run"],
  ["mean", "mean", "of a call"],
  ["p50", "p50", "half of the calls were not longer"],
  ["p90", "p90", "90% of the calls were not longer"],
  ["p99", "p99", "99% of the calls were not longer"],
  ["max", "max", "the longest call"],
  ["calls", "calls", "of the phase"],
];
const PHASES: readonly (readonly [phase: Phase, title: string])[] = [
  ["steady", "steady"],
  ["warmup", "warm-up"],
  ["all", "all"],
];
// As high as style.css says that a line is.
const LINE_PX = 28;

/** The tree as a table: what every millisecond went to, what is in no section included. */
export function Ledger({ state }: { state: State }) {
  return (
    <>
      <Tools state={state} />
      <Table state={state} />
    </>
  );
}

function Tools({ state }: { state: State }) {
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
      event.preventDefault();
      search.current?.focus();
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);
  return (
    <div class="tools">
      <input
        ref={search}
        type="search"
        placeholder="Search ( / )"
        aria-label="Search sections"
        value={state.query.value}
        onInput={(event) => (state.query.value = event.currentTarget.value)}
      />
      {state.hasPhases && (
        <div class="switch" role="group" aria-label="Calls of which phase">
          {PHASES.map(([phase, title]) => (
            <button
              type="button"
              key={phase}
              aria-pressed={state.phase.value === phase}
              onClick={() => (state.phase.value = phase)}
            >
              {title}
            </button>
          ))}
        </div>
      )}
      <button type="button" onClick={() => state.openAll(true)}>
        Unfold all
      </button>
      <button type="button" onClick={() => state.openAll(false)}>
        Fold all
      </button>
      <span class="hint">{state.hasPhases ? "Totals and shares are of the whole run." : ""}</span>
    </div>
  );
}

function Table({ state }: { state: State }) {
  const body = useRef<HTMLDivElement>(null);
  const rows = state.rows.value;
  const { from, to } = useWindow(body, rows.length, LINE_PX);
  return (
    <div class="ledger" role="treegrid" aria-label="Sections" aria-rowcount={rows.length + 1}>
      <div class="heads" role="row" aria-rowindex={1}>
        {HEADS.map(([column, title, about]) => (
          <Head key={column} state={state} column={column} title={title} about={about} />
        ))}
      </div>
      <div
        ref={body}
        class="lines"
        role="rowgroup"
        style={{ height: `${rows.length * LINE_PX}px` }}
        onKeyDown={(event) => steer(event, state, rows)}
      >
        <div style={{ transform: `translateY(${from * LINE_PX}px)` }}>
          {rows.slice(from, to).map((row, at) => (
            <Line key={row.key} state={state} row={row} place={from + at} />
          ))}
        </div>
      </div>
      {!rows.length && <p class="hint">No section has that in its name.</p>}
    </div>
  );
}

interface HeadProps {
  state: State;
  column: Column;
  title: string;
  about: string;
}

function Head({ state, column, title, about }: HeadProps) {
  const isSorted = state.sort.value === column;
  const order = state.descending.value ? "descending" : "ascending";
  return (
    <div class={column} role="columnheader" aria-sort={isSorted ? order : "none"}>
      <button type="button" class="plain" title={about} onClick={() => state.sortBy(column)}>
        {title}
        {isSorted ? (state.descending.value ? " ↓" : " ↑") : ""}
      </button>
    </div>
  );
}

/** The keys of a tree: up and down a line, right to open or go in, left to fold or go out, Enter for the details. */
function steer(event: KeyboardEvent, state: State, rows: Row[]): void {
  const line = (event.target as HTMLElement).closest<HTMLElement>("[data-place]");
  if (!line) return;
  const place = Number(line.dataset["place"]);
  const row = rows[place];
  if (!row) return;
  const target = nextPlace(event.key, state, rows, row, place);
  if (target === null) return;
  event.preventDefault();
  if (target !== place) focusOn(line.closest<HTMLElement>(".lines")!, Math.min(Math.max(target, 0), rows.length - 1));
}

function nextPlace(key: string, state: State, rows: Row[], row: Row, place: number): number | null {
  if (key === "ArrowDown") return place + 1;
  if (key === "ArrowUp") return place - 1;
  if (key === "Home") return 0;
  if (key === "End") return rows.length - 1;
  if (key === "ArrowRight") {
    if (row.opens && !row.isOpen) state.toggle(row.index, true);
    return row.isOpen ? place + 1 : place;
  }
  if (key === "ArrowLeft") {
    if (row.isOpen) {
      state.toggle(row.index, false);
      return place;
    }
    return Math.max(0, rows.slice(0, place).findLastIndex((above) => above.depth < row.depth));
  }
  if (key === "Enter" && row.kind === "section") {
    state.selected.value = row.index;
    return place;
  }
  return null;
}

/** Lines far away are not there until they are scrolled to. */
function focusOn(lines: HTMLElement, place: number): void {
  const find = () => lines.querySelector<HTMLElement>(`[data-place="${place}"]`);
  const top = lines.getBoundingClientRect().top + place * LINE_PX;
  if (top < 80 || top > innerHeight - 2 * LINE_PX) scrollBy({ top: top - innerHeight / 2 });
  const now = find();
  if (now) now.focus({ preventScroll: true });
  else requestAnimationFrame(() => requestAnimationFrame(() => find()?.focus({ preventScroll: true })));
}
