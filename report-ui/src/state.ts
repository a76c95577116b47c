import { computed, signal } from "@preact/signals";
import { type Column, openAtFirst, openTo, type Row, rowsOf } from "./rows";
import { hasPhases, type Phase, type Tree, treeOf } from "./tree";
import type { By, Loop, MeanTick, Payload, Report, View } from "./types";

const LINES_AT_FIRST = 36;

/** Everything that the page shows, and its reader's choices. Views read it; only these functions change it. */
export class State {
  readonly report: Report;
  readonly view: View;
  readonly tree: Tree;
  readonly hasPhases: boolean;
  readonly query = signal("");
  readonly phase = signal<Phase>("steady");
  readonly sort = signal<Column>("total");
  readonly descending = signal(true);
  /** The grouping of the ledger's columns; null for all together. */
  readonly by = signal<By | null>(null);
  /** Whether the ledger has one row per name instead of the tree. */
  readonly isByName = signal(false);
  readonly open = signal<ReadonlySet<number>>(new Set());
  /** The index of the item whose details are shown, and of the item that the icicle is zoomed to. */
  readonly selected = signal<number | null>(null);
  readonly zoomed = signal(0);
  /** The path of the loop in the charts. */
  readonly loop = signal("");
  /** The index of the shown tick among the loop's worst ticks. */
  readonly worst = signal(0);
  /** The path of the loop whose mean tick is drawn as boxes; null for the whole run. */
  readonly drawn = signal<string | null>(null);
  readonly tick = computed<MeanTick | null>(() => this.view.mean_ticks.find((tick) => tick.path === this.drawn.value) ?? null);
  /** The index of the item that the boxes show without zoom. */
  readonly home = computed(() => this.tick.value?.places[0] ?? 0);
  /** The period of the run that the timeline shows, from and to. */
  readonly span = signal<[fromNs: number, toNs: number] | null>(null);
  readonly rows = computed<Row[]>(() =>
    rowsOf(this.tree, this.view, {
      open: this.open.value,
      query: this.query.value,
      sort: this.sort.value,
      descending: this.descending.value,
      phase: this.phase.value,
      workers: this.by.value && (this.view.workers[this.by.value] ?? null),
    }),
  );

  constructor(
    payload: Payload,
    readonly json: string,
  ) {
    this.report = payload.report;
    this.tree = treeOf(this.report.tree, payload.view);
    this.view = withTreeIndices(payload.view, this.tree.sections);
    this.hasPhases = hasPhases(this.tree);
    this.open.value = openAtFirst(this.tree, LINES_AT_FIRST);
    this.loop.value = this.loops[0]?.path ?? "";
    this.draw(this.view.mean_ticks[0]?.path ?? null);
  }

  /** The loops in the order of all outputs. */
  get loops(): Loop[] {
    const rows = this.view.screen.loops?.rows ?? [];
    return rows.map((row) => this.report.loops.find((loop) => loop.path === row.path)).filter((loop) => loop !== undefined);
  }

  /** Show a loop: in its charts, and its mean tick where it has one. */
  choose(path: string): void {
    if (this.loop.value !== path) this.worst.value = 0;
    this.loop.value = path;
    if (this.view.mean_ticks.some((tick) => tick.path === path)) this.draw(path);
  }

  draw(path: string | null): void {
    this.drawn.value = path;
    this.zoomed.value = this.home.value;
  }

  /** Zoom the boxes to an item; if it is not on the loop's path, the boxes of the whole run. */
  zoomTo(index: number): void {
    if (this.tick.value && !this.tick.value.places.includes(index)) this.draw(null);
    this.zoomed.value = index;
  }

  toggle(index: number, isOpen = !this.open.value.has(index)): void {
    const open = new Set(this.open.value);
    if (isOpen) open.add(index);
    else open.delete(index);
    this.open.value = open;
  }

  openAll(isOpen: boolean): void {
    this.open.value = new Set(isOpen ? this.tree.items.map((item) => item.index) : []);
  }

  sortBy(column: Column): void {
    this.descending.value = this.sort.value === column ? !this.descending.value : column !== "name";
    this.sort.value = column;
  }

  /** Rows cannot be sorted by a column that is not shown. */
  showBy(by: By | null): void {
    this.by.value = by;
    this.sort.value = "total";
    this.descending.value = true;
  }

  /** Show a node's details, and its line in the ledger. */
  show(path: string): void {
    const index = this.tree.indexByPath.get(path);
    if (index === undefined || index === 0) return;
    this.query.value = "";
    this.isByName.value = false;
    this.open.value = openTo(this.tree, this.open.value, index);
    this.selected.value = index;
  }
}

/** Maps indices of sections in the file to indices in the tree, which also contains sampled calls. */
function withTreeIndices(view: View, sections: readonly number[]): View {
  const toIndex = (number: number) => sections[number]!;
  return {
    ...view,
    notes: Object.fromEntries(Object.entries(view.notes).map(([number, notes]) => [toIndex(Number(number)), notes])),
    outlived: view.outlived.map(toIndex),
    mean_ticks: view.mean_ticks.map((tick) => ({ ...tick, places: tick.places.map(toIndex) })),
  };
}
