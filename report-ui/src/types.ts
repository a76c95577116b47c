/** The types of the data in the page: `report --format json` (docs/file-format.md) and what outputs/html/facts.py adds. */

export type Pairs = [number, number][];

export interface Stats {
  count: number;
  sum_ns: number;
  min_ns: number | null;
  max_ns: number | null;
  mean_ns: number | null;
  p50_ns: number | null;
  p90_ns: number | null;
  p99_ns: number | null;
  histogram: Pairs;
}

export interface CallSite {
  file: string;
  line: number;
  function: string;
  count?: number;
}

export interface Windows {
  width_ns: number;
  counts: Pairs;
  totals_ns: Pairs;
}

export interface TreeNode extends Stats {
  name: string;
  path: string;
  total_ns: number;
  self_ns: number;
  concurrent_ns: number;
  recorder_ns: number;
  wait: boolean;
  parallel: boolean;
  /** The clock of its times, if not the host's. */
  clock?: string;
  call_site: CallSite | null;
  call_sites?: CallSite[];
  windows?: Windows;
  steady?: Stats;
  warmup?: Stats;
  by_thread?: [number, number, number, number][];
  children: TreeNode[];
}

export interface WorstTick {
  duration_ns: number;
  thread: string;
  tick: number;
  started_ns: number;
  breakdown: Record<string, number>;
  causes: Record<string, number>;
}

export interface Loop extends Omit<Stats, "count" | "sum_ns" | "histogram"> {
  name: string;
  path: string;
  ticks: number;
  incomplete: number;
  hz: number | number[] | null;
  budget_ns: number | null;
  achieved_hz: number | null;
  missed: number;
  longest_miss_run: number;
  warmup_ticks: number;
  steady: Stats;
  worst: WorstTick[];
  first_ticks?: { started_wall_ns: number; thread: string; durations_ns: number[] };
}

export interface Gauge {
  last: number;
  count: number;
  min: number;
  max: number;
  p50: number | null;
  p99: number | null;
  zeros: number;
  positive: Pairs;
  negative: Pairs;
  windows?: { readings: [index: number, count: number, min: number, max: number][] };
}

export interface Thread {
  id: string;
  process_name?: string;
  thread_name?: string;
  role?: string;
}

export interface Report {
  schema: string;
  metadata: Record<string, unknown>;
  loops: Loop[];
  gauges: Record<string, Gauge>;
  threads?: Thread[];
  tree: TreeNode;
}

/** A process, thread or role: its column, and the indices of its threads. */
export interface WorkerColumn {
  title: string;
  short: string;
  threads: number[];
}

export type By = "process" | "thread" | "role";

/** The description of a timeline's calls from outputs/html/events.py. */
export interface TimelineFacts {
  calls: number;
  /** The entries of the columns: calls, or for too many overlapping calls, their number over time. */
  drawn: number;
  overwritten: number;
  from_ns: number;
  to_ns: number;
  tracks: { process: string; process_title: string; title: string; calls: number }[];
  /** 1 for durations measured elsewhere, 2 for numbers of calls. */
  nodes: [path: string, name: string, recorded: number][];
  /** The number of bytes per number of each column: gaps, durations, nodes. */
  planes: [number, number, number];
  /** The ticks of one loop on one track: the number of the first tick, null if unknown, and their count. */
  ticks: [track: number, node: number, first: number | null, count: number][];
  /** The number of bytes per lateness of a tick, in the order of `ticks`; 0 if none was missed. */
  late_planes: number;
}

/** A column of a table, as outputs/writing/document.py has it. */
export interface Head {
  key: string;
  title: string;
  unit: string;
  help: string;
  /** The order in which columns are dropped if there is no room: the highest first, 0 never. */
  rank: number;
}

export interface Entry {
  name: string;
  path: string;
  mark: string;
  tone: string;
  share: number | null;
  cells: Record<string, string>;
  values: Record<string, string | number | null>;
  notes: string[];
}

export interface Table {
  title: string;
  noun: string;
  columns: Head[];
  rows: Entry[];
  remark: string;
}

export interface Headline {
  path: string;
  name: string;
  pieces: string[];
  is_missed: boolean;
}

export interface Warned {
  text: string;
  rule: string;
  evidence: string[];
}

export interface Recommendation {
  rule: string;
  severity: string;
  kind: string;
  path: string;
  /** The saving, and the change of the loop's pace: two pieces, separated by two spaces. */
  gain: string;
  text: string;
  evidence: string[];
}

/** The parts of outputs/view/model.py's report view that the page draws. */
export interface Screen {
  title: string;
  provenance: { key: string; text: string }[];
  headlines: Headline[];
  warnings: Warned[];
  recommendations: Recommendation[];
  loops: Table | null;
  nothing: string;
}

/** A loop's mean tick: the time of each section on the loop's path, by its index in the tree. */
export interface MeanTick {
  path: string;
  name: string;
  title: string;
  tick_ns: number;
  places: number[];
  total_ns: number[];
  self_ns: number[];
  by_name: Table | null;
}

/** The sampled calls in a section's self time, parents first; shares are of that time. */
export interface Sampled {
  place: number;
  /** The index of their loop; 0 if there is none. */
  base: number;
  samples: number;
  depth: number[];
  name: string[];
  share: number[];
  text: string[];
}

export interface View {
  title: string;
  screen: Screen;
  /** Further facts about where it ran. */
  about: string[];
  mean_ticks: MeanTick[];
  pace: Record<string, string[][]>;
  /** Why ticks of a loop that are longer than the budget may not count as missed. */
  over_budget: Record<string, string>;
  /** The waiting time in each of a loop's worst ticks. */
  waited: Record<string, number[]>;
  usual: Record<string, Record<string, number>>;
  rules: Record<string, { about: string; page: string }>;
  dismissed: string[];
  /** Present if the run has a timeline; its calls are in a separate element. */
  timeline?: TimelineFacts;
  workers: Partial<Record<By, WorkerColumn[]>>;
  gauges: string[];
  /** Shortened names of calls under focus. */
  short: Record<string, string>;
  notes: Record<string, string[]>;
  outlived: number[];
  itself: { total_ns: number; calls: number };
  categories: string[];
  category_of: number[];
  /** The index of each node's loop, 0 outside loops. */
  loop_of: number[];
  sampled: Sampled[];
  /** By function: of a run without sections, and of threads without nodes. */
  sampled_tables: Table[];
  /** What to mark in a program without loops. */
  marks: string[];
}

export interface Payload {
  report: Report;
  view: View;
}
