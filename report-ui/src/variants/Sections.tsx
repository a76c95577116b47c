import { type Signal, useSignal } from "@preact/signals";
import { Choice } from "../parts/Choice";
import { indentation } from "../parts/lines";
import { Rows } from "../parts/Rows";
import { Scrollable } from "../parts/Scrollable";
import { Search } from "../parts/Search";
import { containsAll, readablePath, wordsOf } from "../path";
import { visible } from "../visible";
import { type Measure, MEASURES } from "./measures";
import type { VariantRow, VariantsPayload } from "./types";

const DEEPEST = 14;
const SHOWN = (Object.keys(MEASURES) as Measure[]).map((measure) => [measure, measure] as const);

/** The trees of all runs as one, with a column for each run. */
export function Sections({ payload, query }: { payload: VariantsPayload; query: Signal<string> }) {
  const measure = useSignal<Measure>("mean");
  const { rows, runs } = payload.variants;
  const words = wordsOf(query.value);
  const matching = words.length
    ? rows.filter((row) => row.kind === "section" && containsAll(readablePath(row.path), words))
    : rows;
  return (
    <>
      <div class="tools">
        <Search query={query} />
        <Choice label="Values shown" options={SHOWN} value={measure.value} onChoose={(choice) => (measure.value = choice)} />
        <span class="hint">Steady calls; shares and totals of the whole run. For intervals and verdicts: ticktree compare.</span>
      </div>
      <Scrollable label="Sections of each run">
        <div class="side-by-side" role="table" aria-label="Sections" aria-rowcount={matching.length + 1} style={{ "--runs": runs.length }}>
          <div class="heads" role="row">
            <div class="name" role="columnheader">section</div>
            {runs.map((run, i) => (
              <div key={i} role="columnheader" title={run.label}>{run.label}</div>
            ))}
          </div>
          <Rows rows={matching}>
            {(row, index) => (
              <Line key={`${row.kind} ${row.path}`} row={row} index={index} measure={measure.value} isFlat={words.length > 0} />
            )}
          </Rows>
        </div>
      </Scrollable>
    </>
  );
}

interface Props {
  row: VariantRow;
  index: number;
  measure: Measure;
  isFlat: boolean;
}

function Line({ row, index, measure, isFlat }: Props) {
  const { of, text } = MEASURES[measure];
  const values = row.of.map((cell) => (cell ? of(cell) : null));
  const max = Math.max(0, ...values.map((value) => value ?? 0));
  const site = row.of.find((cell) => cell?.site)?.site;
  return (
    <div class={`line ${row.kind}`} role="row" aria-rowindex={index + 2}>
      <div class="name" role="cell" style={indentation(isFlat ? 0 : row.depth, DEEPEST)}>
        <bdi>{isFlat ? readablePath(row.path) : visible(row.name) || '""'}</bdi>
        {row.wait && row.kind === "section" && <em>wait</em>}
        {site && (
          <span class="notes" title={site}>
            {site.slice(site.lastIndexOf("/") + 1)}
          </span>
        )}
      </div>
      {values.map((value, i) => (
        <div
          key={i}
          class={`column${row.of[i] ? "" : " absent"}`}
          role="cell"
          style={{ backgroundSize: `${value && max > 0 ? Math.max(0, (100 * value) / max) : 0}% 100%` }}
        >
          {text(value)}
        </div>
      ))}
    </div>
  );
}
