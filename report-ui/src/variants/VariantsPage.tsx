import { useSignal } from "@preact/signals";
import * as format from "../format";
import { Facts } from "../parts/Facts";
import { Parts } from "../parts/Part";
import { Pieces } from "../parts/Pieces";
import { Scrollable } from "../parts/Scrollable";
import { Masthead } from "../views/Masthead";
import { Sections } from "./Sections";
import type { LoopTable, Run, Spread, VariantsPayload } from "./types";

/** Several runs next to one another: speeds, bottlenecks, and the times of sections. */
export function VariantsPage({ payload }: { payload: VariantsPayload }) {
  const { variants, view } = payload;
  const query = useSignal("");
  const sections = [
    { id: "sections", title: "Sections", body: <Sections payload={payload} query={query} /> },
    { id: "loops", title: "Loops", body: <Loops loops={variants.loops} /> },
  ].filter(({ id }) => id !== "loops" || variants.loops.length);
  const losses = view.losses.flatMap((lost, i) => (lost.length ? [`${view.headline[i]}: ${lost.join(", ")}`] : []));
  return (
    <>
      <Masthead title={view.title} headline={view.headline} losses={losses} sections={sections} json={null} />
      <div class="variants" style={{ "--runs": variants.runs.length }}>
        {variants.runs.map((run, i) => (
          <Card key={i} run={run} headline={view.headlines[i]!} />
        ))}
      </div>
      <Facts id="facts" title="Not the same in all" columns={view.headline} facts={view.facts} />
      <Parts parts={sections} />
    </>
  );
}

/** The summary of a run: its speed, and its bottleneck. */
function Card({ run, headline }: { run: Run; headline: string[] }) {
  return (
    <article>
      <h2>{run.label}</h2>
      <p class="figure">{run.pace}</p>
      {run.bottleneck && (
        <p class="why">
          <small>Bottleneck</small> <b>{run.bottleneck.name}</b>
          <span>{run.bottleneck.words}</span>
        </p>
      )}
      <Pieces pieces={headline} class="pieces" />
    </article>
  );
}

function Loops({ loops }: { loops: LoopTable[] }) {
  return (
    <>
      {loops.map(({ title, heads, rows }) => {
        const widestNs = Math.max(1, ...rows.flatMap(({ spread }) => (spread ? [spread.max_ns, spread.budget_ns ?? 0] : [])));
        return (
          <Scrollable label={title} key={title}>
            <table class="numbers loops">
              <thead>
                <tr>
                  <th class="words">{title}</th>
                  {heads.map((head) => (
                    <th key={head}>{head}</th>
                  ))}
                  <th class="words spread" title="From p50 to p99 as a bar, the longest tick and the budget as lines">
                    0 to {format.time(widestNs)}
                  </th>
                </tr>
              </thead>
              <tbody>
                {rows.map(({ label, cells, tone, spread }, i) => (
                  <tr key={i}>
                    <td class="words">{label}</td>
                    {cells.map((cell, column) => (
                      <td key={column} class={heads[column] === "missed" ? tone : ""}>
                        {cell}
                      </td>
                    ))}
                    <td class="spread">{spread && <Track spread={spread} widestNs={widestNs} />}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scrollable>
        );
      })}
    </>
  );
}

function Track({ spread, widestNs }: { spread: Spread; widestNs: number }) {
  const percent = (ns: number) => `${(100 * ns) / widestNs}%`;
  return (
    <div class="track">
      <i style={{ left: percent(spread.p50_ns), width: `calc(${percent(spread.p99_ns - spread.p50_ns)} + 2px)` }} />
      <em style={{ left: percent(spread.max_ns) }} />
      {spread.budget_ns !== null && <b style={{ left: percent(spread.budget_ns) }} />}
    </div>
  );
}
