import { useEffect, useRef } from "preact/hooks";
import { Choice } from "../parts/Choice";
import { Search } from "../parts/Search";
import type { Column, Row } from "../rows";
import type { State } from "../state";
import type { Phase } from "../tree";
import type { By } from "../types";
import { ByName } from "./ByName";
import { focusOn, Lines } from "./Lines";
import { MAX_COLUMNS } from "./Workers";

type HeadFacts = readonly [column: Column, title: string, about: string, kind?: string];

const BEFORE: readonly HeadFacts[] = [
  ["name", "section", ""],
  ["share", "share", "of a tick of the loop that it is in; of a loop, and what is in none, of the run"],
  ["total", "total", "of all calls of the phase"],
];
const TIMES: readonly HeadFacts[] = [
  ["mean", "mean", "of a call"],
  ["p50", "p50", "half of the calls were not longer"],
  ["p90", "p90", "90% of the calls were not longer"],
  ["p99", "p99", "99% of the calls were not longer"],
  ["max", "max", "the longest call"],
];
const SPREAD: readonly HeadFacts[] = [
  ["least", "least", "that any of them had who had any"],
  ["middle", "median", "half of them had no more"],
];
const MOST: HeadFacts = ["most", "most", "that any of them had"];
const AFTER: readonly HeadFacts[] = [["calls", "calls", "of the phase"]];
const BYS: readonly (readonly [by: By, title: string])[] = [
  ["process", "by process"],
  ["thread", "by thread"],
  ["role", "by role"],
];
const PHASES: readonly (readonly [phase: Phase, title: string])[] = [
  ["steady", "steady"],
  ["warmup", "warm-up"],
  ["all", "all"],
];
const SHAPES: readonly (readonly [isByName: boolean, title: string])[] = [
  [false, "tree"],
  [true, "by name"],
];

/** The tree as a table: where every millisecond went, including time in no section. */
export function Ledger({ state }: { state: State }) {
  return (
    <>
      <Tools state={state} />
      {state.isByName.value ? <ByName state={state} /> : <Table state={state} />}
    </>
  );
}

function Tools({ state }: { state: State }) {
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
      event.preventDefault();
      // The results are below it.
      search.current?.closest("section")?.scrollIntoView();
      search.current?.focus({ preventScroll: true });
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);
  return (
    <div class="tools">
      <Search input={search} hint="Search ( / )" query={state.query} />
      <Choice label="Rows" options={SHAPES} value={state.isByName.value} onChoose={(isByName) => (state.isByName.value = isByName)} />
      {!state.isByName.value && <TreeTools state={state} />}
    </div>
  );
}

function TreeTools({ state }: { state: State }) {
  return (
    <>
      {state.hasPhases && <Choice label="Phase of the calls" options={PHASES} value={state.phase.value} onChoose={(phase) => (state.phase.value = phase)} />}
      <Bys state={state} />
      <button type="button" onClick={() => state.openAll(true)}>
        Unfold all
      </button>
      <button type="button" onClick={() => state.openAll(false)}>
        Fold all
      </button>
      <span class="hint">Shares are of a tick of the section's loop; shares of loops are of the run.</span>
    </>
  );
}

/** The columns: all together, or one per process, thread or role, if there are several. */
function Bys({ state }: { state: State }) {
  const groupings = BYS.filter(([by]) => state.view.workers[by]);
  if (!groupings.length) return null;
  const choices: readonly (readonly [by: By | null, title: string])[] = [[null, "together"], ...groupings];
  return <Choice label="Whose columns" options={choices} value={state.by.value} onChoose={(by) => state.showBy(by)} />;
}

function Table({ state }: { state: State }) {
  const rows = state.rows.value;
  const workers = state.by.value && (state.view.workers[state.by.value] ?? null);
  const kind = workers ? (workers.length > MAX_COLUMNS ? " by many" : " by few") : "";
  return (
    <div
      class={`ledger${kind}`}
      role="treegrid"
      aria-label="Sections"
      aria-rowcount={rows.length + 1}
      style={{ "--workers": workers?.length ?? 0 }}
    >
      <div class="heads" role="row" aria-rowindex={1}>
        {headsOf(state).map(([column, title, about, kind]) => (
          <Head key={`${column} ${kind}`} state={state} column={column} title={title} about={about} kind={kind ?? column} />
        ))}
        {workers && <div class="slowest" role="columnheader">slowest</div>}
      </div>
      <Lines state={state} rows={rows} onKeyDown={(event) => steer(event, state, rows)} />
      {!rows.length && <p class="hint">No section has that in its name.</p>}
    </div>
  );
}

function headsOf(state: State): HeadFacts[] {
  const workers = state.by.value && state.view.workers[state.by.value];
  if (!workers) return [...BEFORE, ...TIMES, ...AFTER];
  const workerHeads = workers.map((worker, i): HeadFacts => [`worker ${i}`, worker.short, worker.title, "column"]);
  const strip: HeadFacts = ["most", "each", "All of them side by side, each as high as what it had", "strip"];
  return [...BEFORE, strip, ...(workers.length > MAX_COLUMNS ? SPREAD : workerHeads), MOST, ...AFTER];
}

interface HeadProps {
  state: State;
  column: Column;
  title: string;
  about: string;
  kind: string;
}

function Head({ state, column, title, about, kind }: HeadProps) {
  const isSorted = state.sort.value === column;
  const order = state.descending.value ? "descending" : "ascending";
  return (
    <div class={kind} role="columnheader" aria-sort={isSorted ? order : "none"}>
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
  const index = Number(line.dataset["place"]);
  const row = rows[index];
  if (!row) return;
  const target = nextIndex(event.key, state, rows, row, index);
  if (target === null) return;
  event.preventDefault();
  if (target !== index) focusOn(line.closest<HTMLElement>(".lines")!, Math.min(Math.max(target, 0), rows.length - 1));
}

function nextIndex(key: string, state: State, rows: Row[], row: Row, index: number): number | null {
  if (key === "ArrowDown") return index + 1;
  if (key === "ArrowUp") return index - 1;
  if (key === "Home") return 0;
  if (key === "End") return rows.length - 1;
  if (key === "ArrowRight") {
    if (row.opens && !row.isOpen) state.toggle(row.index, true);
    return row.isOpen ? index + 1 : index;
  }
  if (key === "ArrowLeft") {
    if (row.isOpen) {
      state.toggle(row.index, false);
      return index;
    }
    return Math.max(0, rows.slice(0, index).findLastIndex((above) => above.depth < row.depth));
  }
  if (key === "Enter" && (row.kind === "section" || row.kind === "sampled")) {
    state.selected.value = row.index;
    return index;
  }
  return null;
}
