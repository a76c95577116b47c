import * as format from "../format";
import { colorOf } from "../palette";
import { indentation } from "../parts/lines";
import type { Row } from "../rows";
import type { State } from "../state";
import { theme } from "../theme";
import type { TreeNode } from "../types";
import { visible } from "../visible";
import { Workers } from "./Workers";

const DEEPEST = 18;

interface Props {
  state: State;
  row: Row;
  index: number;
}

/** A line of the ledger. */
export function Line({ state, row, index }: Props) {
  const hasDetails = row.kind === "section" || row.kind === "sampled";
  const isSelected = hasDetails && state.selected.value === row.index;
  const expanded = row.opens ? { "aria-expanded": row.isOpen } : {};
  return (
    <div
      class={`line ${row.kind}${isSelected ? " selected" : ""}`}
      role="row"
      data-place={index}
      tabIndex={index ? -1 : 0}
      aria-level={row.depth + 1}
      aria-rowindex={index + 2}
      {...expanded}
      onClick={() => hasDetails && (state.selected.value = row.index)}
    >
      <div class="name" role="gridcell" style={indentation(row.depth, DEEPEST)}>
        <Name state={state} row={row} />
      </div>
      <Share state={state} row={row} />
      <div class="total" role="gridcell">{format.time(row.totalNs)}</div>
      {state.by.value ? <Workers state={state} row={row} /> : <Times row={row} />}
      <div class="calls" role="gridcell">{row.calls === null ? "" : format.count(row.calls)}</div>
    </div>
  );
}

function Times({ row }: { row: Row }) {
  const { stats } = row;
  return (
    <>
      <div class="mean" role="gridcell">{row.meanNs === null ? "" : format.time(row.meanNs)}</div>
      <div class="p50" role="gridcell">{stats ? format.time(stats.p50_ns) : ""}</div>
      <div class="p90" role="gridcell">{stats ? format.time(stats.p90_ns) : ""}</div>
      <div class="p99" role="gridcell">{stats ? format.time(stats.p99_ns) : ""}</div>
      <div class="max" role="gridcell">{stats ? format.time(stats.max_ns) : ""}</div>
    </>
  );
}

function Name({ state, row }: { state: State; row: Row }) {
  if (row.kind === "itself") return <span class="own">ticktree itself</span>;
  const fold = (event: Event) => {
    event.stopPropagation();
    state.toggle(row.index);
  };
  const folds = row.opens ? (
    <span class="fold" aria-hidden="true" onClick={fold}>
      {row.isOpen ? "▾" : "▸"}
    </span>
  ) : (
    <span class="fold" />
  );
  if (row.kind === "self") return <>{row.opens && folds}<span class="own">[self]</span></>;
  const { node, name, fullName, text } = state.tree.items[row.index]!;
  const isSampled = row.kind === "sampled";
  const mark = isSampled ? "[sampled]" : markOf(node);
  const notes = isSampled ? [text] : state.view.notes[row.index];
  return (
    <>
      {folds}
      <bdi title={fullName === name ? undefined : fullName}>{name}</bdi>
      {mark && <em>{mark}</em>}
      {notes && <span class="notes">{notes.join(" · ")}</span>}
    </>
  );
}

/** The mark of a section's kind, as in every output (outputs/view/notes.py). */
function markOf(node: TreeNode): string {
  if (node.wait) return "wait";
  return node.clock ? `${visible(node.clock)} clock` : node.concurrent_ns ? "parallel" : "";
}

/** The share and its bar in one element: in a thousand lines, each element less saves a frame. */
function Share({ state, row }: { state: State; row: Row }) {
  const part = Math.min(1, Math.max(0, row.share ?? 0));
  const category = row.kind === "section" ? state.tree.items[row.index]!.category : null;
  const color = row.kind === "section" ? { "--color": colorOf(category, theme.value) } : {};
  return (
    <div class="share" role="gridcell" title={category ?? ""} style={{ "--part": part, ...color }}>
      {format.share(row.share)}
    </div>
  );
}
