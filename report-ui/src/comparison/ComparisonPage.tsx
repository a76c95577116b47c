import { useMemo } from "preact/hooks";
import * as format from "../format";
import { Facts } from "../parts/Facts";
import { Parts } from "../parts/Part";
import { readablePath } from "../path";
import { reportIn } from "../payload";
import { Masthead } from "../views/Masthead";
import { visible } from "../visible";
import { DiffIcicle } from "./DiffIcicle";
import { Forest } from "./Forest";
import { Interval } from "./Interval";
import { scaleOf } from "./scale";
import { Sides } from "./Sides";
import { ComparisonState } from "./state";
import type { ComparisonPayload, Entry } from "./types";
import { between, classOf, shift, verdictText, VERDICTS } from "./words";

// Further loops are in the list of sections below.
const LOOPS_SHOWN = 4;

/** Two sides, entry by entry: slower, faster, no difference, cannot tell. */
export function ComparisonPage({ payload, json }: { payload: ComparisonPayload; json: string }) {
  const state = useMemo(() => new ComparisonState(payload), [payload]);
  const { comparison, view } = payload;
  const sections = [
    { id: "sections", title: "Sections", body: <Forest state={state} /> },
    { id: "icicle", title: "Icicle", body: <DiffIcicle state={state} /> },
  ];
  const leading = state.loops.length ? state.loops : state.nodes.filter((entry) => !entry.path.includes("/"));
  const scale = scaleOf(leading, comparison.threshold_percent);
  return (
    <>
      <Masthead title={view.title} headline={view.headline} losses={[]} sections={sections} json={reportIn(json)} />
      <Counts entries={state.nodes} />
      <div class="verdicts">
        {[...leading].sort(byTime).slice(0, LOOPS_SHOWN).map((entry) => (
          <article class="verdict loop" key={entry.path}>
            <div>
              <h2 class="label">
                {entry.kind === "loop" ? "Loop" : "Section"} <b>{readablePath(entry.path)}</b>
              </h2>
              <p class={`figure ${classOf(entry.verdict)}`}>
                {verdictText(entry.verdict)} <small>{shift(entry)}</small>
              </p>
              <p class="verdict-line">
                {format.change(format.time(entry.base_mean_ns), format.time(entry.new_mean_ns))} a{" "}
                {entry.kind === "loop" ? "tick" : "call"}{entry.shift_percent === null ? "" : `; ${between(entry)}`}.
              </p>
            </div>
            <div>
              <Interval entry={entry} scale={scale} threshold={comparison.threshold_percent} axis />
              <Sides entry={entry} />
            </div>
          </article>
        ))}
      </div>
      <Differences payload={payload} />
      <p class="remarks">{view.remarks.join(" ")}</p>
      <Parts parts={sections} />
    </>
  );
}

function byTime(left: Entry, right: Entry): number {
  const spent = (entry: Entry) => entry.base.count * (entry.base_mean_ns ?? 0);
  return spent(right) - spent(left);
}

/** The number of sections per verdict. */
function Counts({ entries }: { entries: readonly Entry[] }) {
  return (
    <p class="counts">
      {VERDICTS.map((verdict) => [verdict, entries.filter((entry) => entry.verdict === verdict).length] as const)
        .filter(([, number]) => number)
        .map(([verdict, number]) => (
          <span key={verdict} class={classOf(verdict)}>
            <i aria-hidden="true" />
            <b>{format.count(number)}</b> {verdictText(verdict)}
          </span>
        ))}
    </p>
  );
}

function Differences({ payload }: { payload: ComparisonPayload }) {
  const { grounds } = payload.view;
  const facts = payload.comparison.differences.map(({ key, base, new: newValue }, i) => ({
    key: visible(key),
    of: [visible(base), visible(newValue)],
    isGround: grounds[i],
  }));
  return (
    <Facts id="differences" title="Not the same on both sides" columns={["base", "new"]} facts={facts}>
      {grounds.includes(true) && <p class="hint">What is in red may alone have made one side faster.</p>}
    </Facts>
  );
}
