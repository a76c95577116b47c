import { type Signal, useSignal } from "@preact/signals";
import { Choice } from "../parts/Choice";
import { indented } from "../parts/lines";
import { Rows } from "../parts/Rows";
import { Scrollable } from "../parts/Scrollable";
import { Search } from "../parts/Search";
import { shown } from "../path";
import { visible } from "../visible";
import { type Measure, MEASURES } from "./measures";
import type { VariantRow, VariantsPayload } from "./types";

const DEEPEST = 14;
const SHOWN = (Object.keys(MEASURES) as Measure[]).map((one) => [one, one] as const);

/** The trees of all runs as one, with a column for each run. */
export function Sections({ payload, query }: { payload: VariantsPayload; query: Signal<string> }) {
  const measure = useSignal<Measure>("mean");
  const { rows, runs } = payload.variants;
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length
    ? rows.filter((row) => row.kind === "section" && words.every((word) => shown(row.path).toLowerCase().includes(word)))
    : rows;
  return (
    <>
      <div class="tools">
        <Search query={query} />
        <Choice label="Values shown" of={SHOWN} chosen={measure.value} choose={(one) => (measure.value = one)} />
        <span class="hint">Steady calls; shares and totals of the whole run. For intervals and verdicts: ticktree compare.</span>
      </div>
      <Scrollable label="Sections of each run">
        <div class="side-by-side" role="table" aria-label="Sections" aria-rowcount={found.length + 1} style={{ "--runs": runs.length }}>
          <div class="heads" role="row">
            <div class="name" role="columnheader">section</div>
            {runs.map((run, at) => (
              <div key={at} role="columnheader" title={run.label}>{run.label}</div>
            ))}
          </div>
          <Rows rows={found}>
            {(row, place) => (
              <Line key={`${row.kind} ${row.path}`} row={row} place={place} measure={measure.value} isFlat={words.length > 0} />
            )}
          </Rows>
        </div>
      </Scrollable>
    </>
  );
}

interface Props {
  row: VariantRow;
  place: number;
  measure: Measure;
  isFlat: boolean;
}

function Line({ row, place, measure, isFlat }: Props) {
  const { of, text } = MEASURES[measure];
  const values = row.of.map((cell) => (cell ? of(cell) : null));
  const most = Math.max(0, ...values.map((value) => value ?? 0));
  const site = row.of.find((cell) => cell?.site)?.site;
  return (
    <div class={`line ${row.kind}`} role="row" aria-rowindex={place + 2}>
      <div class="name" role="cell" style={indented(isFlat ? 0 : row.depth, DEEPEST)}>
        <bdi>{isFlat ? shown(row.path) : visible(row.name) || '""'}</bdi>
        {row.wait && row.kind === "section" && <em>wait</em>}
        {site && (
          <span class="notes" title={site}>
            {site.slice(site.lastIndexOf("/") + 1)}
          </span>
        )}
      </div>
      {values.map((value, at) => (
        <div
          key={at}
          class={`unit${row.of[at] ? "" : " absent"}`}
          role="cell"
          style={{ backgroundSize: `${value && most > 0 ? Math.max(0, (100 * value) / most) : 0}% 100%` }}
        >
          {text(value)}
        </div>
      ))}
    </div>
  );
}
