/** The shapes of what is in the page: `report --format json` (docs/file-format.md) and what outputs/html/facts.py adds. */

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
  /** What its times were measured with, where that is not the host. */
  clock?: string;
  call_site: CallSite | null;
  call_sites?: CallSite[];
  windows?: Windows;
  steady?: Stats;
  warmup?: Stats;
  by_writer?: [number, number, number, number][];
  children: TreeNode[];
}

export interface WorstTick {
  duration_ns: number;
  writer: string;
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
  first_ticks?: { started_wall_ns: number; writer: string; durations_ns: number[] };
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
}

export interface Writer {
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
  writers?: Writer[];
  tree: TreeNode;
}

/** A process, thread or role: a column, and which of the writers it is. */
export interface Unit {
  title: string;
  short: string;
  writers: number[];
}

export type By = "process" | "thread" | "role";

/** What outputs/html/events.py says of the calls of a timeline. */
export interface TimelineFacts {
  calls: number;
  /** What there is of them in the columns: of calls that overlap too much, how many there are at a time. */
  drawn: number;
  overwritten: number;
  from_ns: number;
  to_ns: number;
  tracks: { process: string; process_title: string; title: string; calls: number }[];
  /** 1 of what was measured elsewhere, 2 of how many calls there are. */
  spots: [path: string, name: string, recorded: number][];
  /** Of how many bytes the numbers of each column are: gaps, durations, spots. */
  planes: [number, number, number];
}

/** A column of a table, as outputs/writing/document.py has it. */
export interface Head {
  key: string;
  title: string;
  unit: string;
  help: string;
  /** How soon it is given up where there is no room: the highest first, 0 never. */
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
  /** What is saved, and what becomes of the loop's pace: two pieces, two spaces apart. */
  gain: string;
  text: string;
  evidence: string[];
}

/** The report view of outputs/view/model.py, as far as the page draws it. */
export interface Screen {
  title: string;
  provenance: { key: string; text: string }[];
  headlines: Headline[];
  warnings: Warned[];
  recommendations: Recommendation[];
  loops: Table | null;
  nothing: string;
}

/** A loop's mean tick: of each section, by its place in the tree, how long it is on the loop's path. */
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

/** The calls that samples saw in a section's self time, parents first; shares are of that time. */
export interface Sampled {
  place: number;
  /** The place of the loop that they are in; 0 of none. */
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
  /** What else is known of where it ran. */
  about: string[];
  mean_ticks: MeanTick[];
  pace: Record<string, string[][]>;
  /** What must be known of a loop of which ticks last longer than the budget and are not missed. */
  over_budget: Record<string, string>;
  /** How much of each of a loop's worst ticks it waited. */
  waited: Record<string, number[]>;
  usual: Record<string, Record<string, number>>;
  rules: Record<string, { about: string; page: string }>;
  dismissed: string[];
  /** Where the run recorded its calls one by one; they stand in an element of their own. */
  timeline?: TimelineFacts;
  units: Partial<Record<By, Unit[]>>;
  gauges: string[];
  /** Names of calls under focus as they are shown, where that is not all of them. */
  short: Record<string, string>;
  notes: Record<string, string[]>;
  outlived: number[];
  itself: { total_ns: number; calls: number };
  categories: string[];
  category_of: number[];
  /** Of each place that of the loop it is in, 0 of what is in none. */
  loop_of: number[];
  sampled: Sampled[];
  /** By function: of a run without sections, and of threads that are in no account. */
  sampled_tables: Table[];
  /** What to mark in a program without loops. */
  marks: string[];
}

export interface Payload {
  report: Report;
  view: View;
}
