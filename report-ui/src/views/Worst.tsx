import { type Signal, useSignal } from "@preact/signals";
import { type Part, partsOf } from "../breakdown";
import * as format from "../format";
import { colorOf } from "../palette";
import type { State } from "../state";
import { theme } from "../theme";
import type { Loop, WorstTick } from "../types";
import { visible } from "../visible";
import { NodeLink } from "./NodeLink";

// Parts with a smaller share of the tick are counted in one line.
const MIN_SHARE = 0.01;
const CAUSES: Record<string, string> = {
  gc_ns: "garbage collector",
  voluntary_switches: "voluntary switches",
  involuntary_switches: "involuntary switches",
  minor_faults: "minor page faults",
  major_faults: "major page faults",
};

interface Props {
  state: State;
  loop: Loop;
  picked: Signal<number>;
}

/** The longest ticks; for the selected one, where its time went, and its causes. */
export function Worst({ state, loop, picked }: Props) {
  const longestNs = loop.worst[0]!.duration_ns || 1;
  const selectedTick = loop.worst[picked.value] ?? loop.worst[0]!;
  const waited = state.view.waited[loop.path] ?? [];
  const waitedIn = (tick: WorstTick) => waited[loop.worst.indexOf(tick)] ?? 0;
  return (
    <div class="worst">
      <div>
        <h3>Worst ticks</h3>
        <ol aria-label="Worst ticks">
          {loop.worst.map((tick, i) => (
            <li key={i}>
              <button
                type="button"
                aria-pressed={tick === selectedTick}
                onClick={() => (picked.value = i)}
              >
                <span>{format.time(tick.duration_ns)}</span>
                <span class="bar">
                  <i style={{ width: `${(100 * (tick.duration_ns - waitedIn(tick))) / longestNs}%` }} />
                  <i class="waited" style={{ width: `${(100 * waitedIn(tick)) / longestNs}%` }} />
                  {loop.budget_ns !== null && <b style={{ left: `${Math.min(100, (100 * loop.budget_ns) / longestNs)}%` }} />}
                </span>
                <span class="faint">
                  tick {format.count(tick.tick)} at {format.time(tick.started_ns)}
                </span>
              </button>
            </li>
          ))}
        </ol>
        {waited.some(Boolean) && (
          <p class="legend">
            <span>
              <i style={{ background: "var(--bar)" }} />
              busy
            </span>
            <span>
              <i style={{ background: "var(--hair-strong)" }} />
              waits and sleep
            </span>
          </p>
        )}
      </div>
      <Breakdown state={state} loop={loop} tick={selectedTick} />
    </div>
  );
}

function Breakdown({ state, loop, tick }: { state: State; loop: Loop; tick: WorstTick }) {
  const all = useSignal(false);
  const usualNs = loop.p50_ns ?? loop.mean_ns ?? 0;
  const durations = { took: tick.duration_ns, usual: loop.mean_ns ?? 0, breakdown: tick.breakdown };
  const parts = partsOf(loop.path, durations, state.view.usual[loop.path] ?? {});
  const scaleNs = Math.max(tick.duration_ns, usualNs, 1);
  const percent = (ns: number) => `${Math.min(100, (100 * ns) / scaleNs)}%`;
  const causes = Object.entries(tick.causes).sort((left, right) => Number(right[1] > 0) - Number(left[1] > 0));
  const isShown = (part: Part) => part.tookNs >= MIN_SHARE * tick.duration_ns;
  const small = parts.filter((part) => !isShown(part)).length;
  const visibleParts = all.value || small < 2 ? parts : parts.filter(isShown);
  return (
    <div class="breakdown" aria-live="polite">
      <h3>
        Tick {format.count(tick.tick)}: {format.time(tick.duration_ns)} <small>usually {format.time(usualNs)}</small>
      </h3>
      <p class="pieces">
        {causes.map(([cause, amount]) => (
          <span key={cause} class={amount ? "" : "faint"}>
            {CAUSES[cause] ?? visible(cause)} {cause.endsWith("_ns") ? format.time(amount) : format.count(amount)}
          </span>
        ))}
        {!causes.length && <span class="faint">causes were not recorded</span>}
      </p>
      <table class="numbers">
        <thead>
          <tr>
            <th class="words">section</th>
            <th class="pair">
              <span class="sr">this tick compared with the usual one</span>
            </th>
            <th>this tick</th>
            <th>usual</th>
          </tr>
        </thead>
        <tbody>
          {visibleParts.map((part) => {
            const index = state.tree.indexByPath.get(part.path);
            const category = index === undefined ? null : state.tree.items[index]!.category;
            return (
              <tr key={`${part.path} ${part.isSelf}`} class={part.isCulprit ? "unusual" : ""}>
                <td class="words" style={{ paddingLeft: `${Math.min(part.depth, 8) * 14}px` }}>
                  {part.isSelf ? (
                    <span class="faint">[self]</span>
                  ) : (
                    <NodeLink
                      state={state}
                      path={part.path}
                      name={index === undefined ? part.path : state.tree.items[index]!.name}
                    />
                  )}
                </td>
                <td class="pair">
                  <i style={{ width: percent(part.tookNs), background: part.isSelf ? "var(--bar)" : colorOf(category, theme.value) }} />
                  <i class="usual" style={{ width: percent(part.usualNs) }} />
                </td>
                <td>{format.time(part.tookNs)}</td>
                <td>{part.usualNs ? format.time(part.usualNs) : format.ABSENT}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {visibleParts.length < parts.length && (
        <button type="button" class="plain faint" onClick={() => (all.value = true)}>
          {small} smaller
        </button>
      )}
      <InTimeline state={state} tick={tick} />
    </div>
  );
}

/** The link to the same tick in the timeline, if the timeline has it. */
function InTimeline({ state, tick }: { state: State; tick: WorstTick }) {
  const timeline = state.view.timeline;
  const end = tick.started_ns + tick.duration_ns;
  if (!timeline || tick.started_ns < timeline.from_ns || end > timeline.to_ns) return null;
  const show = () => {
    state.span.value = [tick.started_ns, end];
    document.getElementById("timeline")?.scrollIntoView({ behavior: "smooth" });
  };
  return (
    <p class="apart">
      <button type="button" onClick={show}>
        Show in the timeline
      </button>
    </p>
  );
}
