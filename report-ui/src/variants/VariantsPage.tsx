import { useSignal } from "@preact/signals";
import * as format from "../format";
import { Facts } from "../parts/Facts";
import { Parts } from "../parts/Part";
import { Pieces } from "../parts/Pieces";
import { shown } from "../path";
import { Masthead } from "../views/Masthead";
import { visible } from "../visible";
import { Sections } from "./Sections";
import type { Chief, LoopFacts, VariantsPayload } from "./types";

type Loops = VariantsPayload["variants"]["loops"];

/** Several runs side by side: how fast each went, what kept it, and what each section took. */
export function VariantsPage({ payload }: { payload: VariantsPayload }) {
  const { variants, view } = payload;
  const query = useSignal("");
  const sections = [
    { id: "sections", title: "Sections", body: <Sections payload={payload} query={query} /> },
    { id: "loops", title: "Loops", body: <LoopsTable loops={variants.loops} labels={view.headline} /> },
  ].filter(({ id }) => id !== "loops" || variants.loops.length);
  const losses = view.losses.flatMap((lost, at) => (lost.length ? [`${view.headline[at]}: ${lost.join(", ")}`] : []));
  return (
    <>
      <Masthead title={view.title} headline={view.headline} losses={losses} sections={sections} json={null} />
      <div class="variants" style={{ "--runs": variants.runs.length }}>
        {variants.runs.map((run, at) => (
          <Card key={at} run={run} headline={view.headlines[at]!} loop={ofChief(variants.loops, run, at)} />
        ))}
      </div>
      <Facts id="facts" title="Not the same in all" of={view.headline} facts={view.facts} />
      <Parts of={sections} />
    </>
  );
}

function ofChief(loops: Loops, run: Chief, at: number): LoopFacts | null {
  return loops.find((loop) => loop.path === run.loop)?.of[at] ?? null;
}

/** The one thing to know of a run: how fast it went and what kept it from going faster. */
function Card({ run, headline, loop }: { run: Chief; headline: string[]; loop: LoopFacts | null }) {
  const { bottleneck } = run;
  const ceiling = bottleneck && ceilingOf(bottleneck);
  const asked = loop ? [loop.hz ?? []].flat().map(format.hertz).join(" or ") : "";
  return (
    <article>
      <h2>{run.label}</h2>
      <p class="figure">
        {loop?.achieved_hz ? format.hertz(loop.achieved_hz) : format.time(run.tick_ns)}
        {asked && <small> of {asked} asked</small>}
      </p>
      {loop && (
        <p class="verdict-line">
          <Missed loop={loop} /> mean {format.time(loop.mean_ns)}, p99 {format.time(loop.p99_ns)}, worst{" "}
          {format.time(loop.max_ns)}
        </p>
      )}
      {bottleneck && (
        <p class="why">
          <small>Bottleneck</small> <b>{visible(bottleneck.name)}</b>
          <span>
            {format.share(bottleneck.share)} of each {run.loop === null ? "run" : "tick"}; without it {ceiling}
          </span>
        </p>
      )}
      <Pieces of={headline} class="pieces" />
    </article>
  );
}

function ceilingOf({ hz, free_hz: free, speedup }: NonNullable<Chief["bottleneck"]>): string {
  if (hz !== null && free !== null) return format.change(format.hertz(hz), format.hertz(free));
  return speedup === null ? format.ABSENT : `${format.significant(speedup)}× as fast`;
}

function Missed({ loop }: { loop: LoopFacts }) {
  if (loop.budget_ns === null && !loop.missed) return <b>No budget.</b>;
  if (!loop.missed) return <b class="good">No tick missed.</b>;
  const part = format.share(loop.count ? loop.missed / loop.count : null);
  return (
    <b class="alarm">
      {format.count(loop.missed)} of {format.count(loop.count)} ticks missed ({part}).
    </b>
  );
}

function LoopsTable({ loops, labels }: { loops: Loops; labels: string[] }) {
  return (
    <>
      {loops.map((loop) => {
        const widestNs = Math.max(1, ...loop.of.flatMap((one) => [one?.max_ns ?? 0, one?.budget_ns ?? 0]));
        return (
          <div class="scroll" key={loop.path}>
            <table class="numbers loops">
              <thead>
                <tr>
                  <th class="words">{shown(loop.path)}</th>
                  {["ticks", "asked", "achieved", "mean", "p50", "p90", "p99", "max", "missed"].map((head) => (
                    <th key={head}>{head}</th>
                  ))}
                  <th class="words spread">
                    <span class="sr">from p50 to p99, the longest tick and the budget</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {loop.of.map((one, at) => (
                  <LoopLine key={at} label={labels[at]!} one={one} widestNs={widestNs} />
                ))}
              </tbody>
            </table>
          </div>
        );
      })}
    </>
  );
}

function LoopLine({ label, one, widestNs }: { label: string; one: LoopFacts | null; widestNs: number }) {
  const percent = (ns: number | null) => `${(100 * (ns ?? 0)) / widestNs}%`;
  return (
    <tr>
      <td class="words">{label}</td>
      <td>{format.count(one?.ticks)}</td>
      <td>{one ? [one.hz ?? []].flat().map(format.hertz).join(" ") || format.ABSENT : format.ABSENT}</td>
      <td>{format.hertz(one?.achieved_hz)}</td>
      <td>{format.time(one?.mean_ns)}</td>
      <td>{format.time(one?.p50_ns)}</td>
      <td>{format.time(one?.p90_ns)}</td>
      <td>{format.time(one?.p99_ns)}</td>
      <td>{format.time(one?.max_ns)}</td>
      <td class={one?.missed ? "alarm" : ""}>{one && (one.budget_ns !== null || one.missed) ? format.count(one.missed) : format.ABSENT}</td>
      <td class="spread">
        {one && one.p50_ns !== null && (
          <div class="track">
            <i style={{ left: percent(one.p50_ns), width: `calc(${percent((one.p99_ns ?? 0) - one.p50_ns)} + 2px)` }} />
            <em style={{ left: percent(one.max_ns) }} />
            {one.budget_ns !== null && <b style={{ left: percent(one.budget_ns) }} />}
          </div>
        )}
      </td>
    </tr>
  );
}
