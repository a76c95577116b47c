import { Course } from "../charts/Course";
import { Distribution } from "../charts/Distribution";
import { First } from "../charts/First";
import * as format from "../format";
import type { State } from "../state";
import { shownPath } from "../tree";
import type { Loop } from "../types";
import { Worst } from "./Worst";

/** A loop's ticks: over the run, the first ticks, their distribution, and the worst ticks one by one. */
export function Ticks({ state }: { state: State }) {
  const { loops } = state;
  const loop = loops.find((candidate) => candidate.path === state.loop.value) ?? loops[0]!;
  return (
    <>
      {loops.length > 1 && (
        <div class="tools">
          <select
            aria-label="Loop"
            value={state.loop.value}
            onChange={(event) => state.choose(event.currentTarget.value)}
          >
            {loops.map((option) => (
              <option key={option.path} value={option.path}>
                {shownPath(state.tree, option.path)}
              </option>
            ))}
          </select>
        </div>
      )}
      <OfLoop key={loop.path} state={state} loop={loop} />
    </>
  );
}

function OfLoop({ state, loop }: { state: State; loop: Loop }) {
  const index = state.tree.indexByPath.get(loop.path);
  const node = index === undefined ? null : state.tree.items[index]!.node;
  const windows = node?.windows;
  const first = loop.first_ticks?.durations_ns ?? [];
  return (
    <>
      <p class="pieces">
        <span>{format.count(loop.ticks)} {loop.ticks === 1 ? "tick" : "ticks"}</span>
        {loop.warmup_ticks > 0 && <span>{format.count(loop.warmup_ticks)} of warm-up</span>}
        <span>p50 {format.time(loop.p50_ns)}</span>
        <span>p90 {format.time(loop.p90_ns)}</span>
        <span>p99 {format.time(loop.p99_ns)}</span>
        <span>max {format.time(loop.max_ns)}</span>
        {(state.view.pace[loop.path] ?? []).flat().map((piece) => (
          <span key={piece}>{piece}</span>
        ))}
      </p>
      {state.view.over_budget[loop.path] && <p class="hint">{state.view.over_budget[loop.path]}</p>}
      <div class="charts">
        {windows && windows.counts.length > 0 && (
          <figure>
            <figcaption>Over the run: the mean of each {format.time(windows.width_ns)}, and the worst ticks</figcaption>
            <Course loop={loop} windows={windows} onPick={(worst) => (state.worst.value = worst)} />
          </figure>
        )}
        {first.length > 1 && (
          <figure>
            <figcaption>The first {format.count(first.length)} ticks</figcaption>
            <First loop={loop} durations={first} />
          </figure>
        )}
        {loop.steady.histogram.length > 0 && (
          <figure>
            <figcaption>How long steady ticks take, and how many are not longer</figcaption>
            <Distribution stats={loop.steady} budgetNs={loop.budget_ns} height={220} />
          </figure>
        )}
      </div>
      {loop.worst.length > 0 && <Worst state={state} loop={loop} picked={state.worst} />}
    </>
  );
}
