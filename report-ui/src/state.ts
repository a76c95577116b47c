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
  /** Whether the ledger has a row for each name in place of the tree. */
  readonly isByName = signal(false);
  readonly open = signal<ReadonlySet<number>>(new Set());
  /** The place whose details are shown, and the one that the icicle is zoomed to. */
  readonly selected = signal<number | null>(null);
  readonly zoomed = signal(0);
  /** The path of the loop that charts are of. */
  readonly loop = signal("");
  /** Which of the loop's worst ticks is shown. */
  readonly worst = signal(0);
  /** The path of the loop whose mean tick is drawn as boxes; null for the whole run. */
  readonly drawn = signal<string | null>(null);
  readonly tick = computed<MeanTick | null>(() => this.view.mean_ticks.find((one) => one.path === this.drawn.value) ?? null);
  /** The place that the boxes are of when nothing is zoomed. */
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
      units: this.by.value && (this.view.units[this.by.value] ?? null),
    }),
  );

  constructor(
    payload: Payload,
    readonly json: string,
  ) {
    this.report = payload.report;
    this.tree = treeOf(this.report.tree, payload.view);
    this.view = placed(payload.view, this.tree.sections);
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
    if (this.view.mean_ticks.some((one) => one.path === path)) this.draw(path);
  }

  draw(path: string | null): void {
    this.drawn.value = path;
    this.zoomed.value = this.home.value;
  }

  /** Zoom the boxes to a place; if it is not on the loop's path, the boxes of the whole run. */
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
    this.open.value = new Set(isOpen ? this.tree.places.map((place) => place.index) : []);
  }

  sortBy(column: Column): void {
    this.descending.value = this.sort.value === column ? !this.descending.value : column !== "name";
    this.sort.value = column;
  }

  /** Another column than those shown cannot be what they are sorted by. */
  showBy(by: By | null): void {
    this.by.value = by;
    this.sort.value = "total";
    this.descending.value = true;
  }

  /** Show a node's details, and see to it that the ledger has its line. */
  show(path: string): void {
    const index = this.tree.at.get(path);
    if (index === undefined || index === 0) return;
    this.query.value = "";
    this.isByName.value = false;
    this.open.value = openTo(this.tree, this.open.value, index);
    this.selected.value = index;
  }
}

/** Maps data by the section's index in the file to its place in the tree, where sampled calls have places as well. */
function placed(view: View, sections: readonly number[]): View {
  const at = (number: number) => sections[number]!;
  return {
    ...view,
    notes: Object.fromEntries(Object.entries(view.notes).map(([number, notes]) => [at(Number(number)), notes])),
    outlived: view.outlived.map(at),
    mean_ticks: view.mean_ticks.map((one) => ({ ...one, places: one.places.map(at) })),
  };
}
