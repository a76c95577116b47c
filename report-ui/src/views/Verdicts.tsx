import * as format from "../format";
import { colorOf } from "../palette";
import type { State } from "../state";
import { theme } from "../theme";
import { shownPath } from "../tree";
import type { Frame, Loop, Section, TreeNode } from "../types";
import { NodeLink } from "./NodeLink";
import { TickBar } from "./TickBar";

const SHOWN = 5;
const LEAST_SHARE = 0.001;

/** Of each loop that matters: whether it holds its rate, what a tick consists of, and what costs it most. */
export function Verdicts({ state }: { state: State }) {
  return (
    <div class="verdicts">
      {state.view.chief.map(({ frame, section, name }, at) => (
        <article class={at ? "verdict minor" : "verdict"} key={frame}>
          <Verdict state={state} at={frame} />
          <Bottleneck state={state} at={frame} section={section} name={name} />
        </article>
      ))}
    </div>
  );
}

function Verdict({ state, at }: { state: State; at: number }) {
  const frame = state.report.bottlenecks[at]!;
  const loop = state.report.loops.find((one) => one.path === frame.loop);
  const shares = state.report.categories[at]!.categories;
  return (
    <div class="how">
      {loop ? <OfLoop state={state} loop={loop} /> : <OfRun frame={frame} />}
      <TickBar tickNs={frame.tick_ns} recorderNs={frame.recorder_ns} shares={shares} loop={loop ?? null} />
      {loop && <Pace lines={state.view.pace[loop.path] ?? []} />}
    </div>
  );
}

function OfRun({ frame }: { frame: Frame }) {
  return (
    <>
      <h2 class="label">The run</h2>
      <p class="figure">{format.time(frame.tick_ns)}</p>
    </>
  );
}

function OfLoop({ state, loop }: { state: State; loop: Loop }) {
  const asked = [loop.hz ?? []].flat().map(format.hertz).join(" or ");
  return (
    <>
      <h2 class="label">
        Loop <NodeLink state={state} path={loop.path} />
      </h2>
      <p class="figure">
        {loop.achieved_hz === null ? format.time(loop.mean_ns) : format.hertz(loop.achieved_hz)}
        {asked && <small> of {asked} asked</small>}
      </p>
      <p class="verdict-line">
        <Missed loop={loop} />
        {" "}
        mean {format.time(loop.mean_ns)}, p99 {format.time(loop.p99_ns)}, worst {format.time(loop.max_ns)}
      </p>
    </>
  );
}

function Missed({ loop }: { loop: Loop }) {
  const ticks = loop.steady.count;
  if (loop.budget_ns === null && !loop.missed) return <b>No budget.</b>;
  if (!loop.missed) return <b class="good">No tick of {format.count(ticks)} missed.</b>;
  return (
    <b class="alarm">
      {format.count(loop.missed)} of {format.count(ticks)} ticks missed ({format.share(ticks ? loop.missed / ticks : null)}).
    </b>
  );
}

function Pace({ lines }: { lines: string[][] }) {
  return (
    <ul class="pace">
      {lines.map((pieces, at) => (
        <li key={at}>{pieces.join(" · ")}</li>
      ))}
    </ul>
  );
}

interface Chief {
  state: State;
  at: number;
  section: number | null;
  name: string | null;
}

function Bottleneck({ state, at, section, name }: Chief) {
  const frame = state.report.bottlenecks[at]!;
  const one = section === null ? undefined : frame.sections[section];
  if (!one) {
    return (
      <div class="why">
        <h3 class="label">Bottleneck</h3>
        <p>Nothing that could be taken away.</p>
      </div>
    );
  }
  const dearest = frame.sections.filter((other) => ceiling(other) && other.share >= LEAST_SHARE);
  const hasWarmup = state.report.loops.some((loop) => loop.path === frame.loop && loop.warmup_ticks);
  return (
    <div class="why">
      <h3 class="label">
        Bottleneck <NodeLink state={state} path={one.path} name={name} />
      </h3>
      <p class="figure">{ceiling(one)}</p>
      <p class="verdict-line">
        if it took no time: it takes {format.share(one.share)} of each {frame.loop === null ? "run" : "tick"},{" "}
        {format.time(one.self_ns)}. {state.view.slack[at] || (hasWarmup ? "The rates are of its steady ticks." : "")}
      </p>
      <table class="then">
        <tbody>
          {dearest.slice(0, SHOWN).map((other) => (
            <tr key={other.path + other.kind} class={other === one ? "chief" : ""}>
              <td class="words">
                <NodeLink state={state} path={other.path} name={called(state, other.path, frame.loop)} />
              </td>
              <td class="bar">
                <i style={{ width: `${100 * other.share}%`, background: colorOf(other.category, theme.value) }} />
              </td>
              <td>{format.share(other.share)}</td>
              <td>{ceiling(other)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** How fast it could be without a section: of a loop its rate, of a run how many times as fast. */
function ceiling(section: Section): string {
  if (section.kind !== "work" && section.kind !== "wait") return "";
  if (section.hz !== null && section.free_hz !== null) {
    return format.change(format.hertz(section.hz), format.hertz(section.free_hz));
  }
  return section.speedup === null ? "" : `${format.significant(section.speedup)} x as fast`;
}

/** Whether anything is a part of its time: what a device did beside it is none (analysis/bottlenecks/steps.py). */
function hasSections(node: TreeNode): boolean {
  return node.children.some((child) => !child.clock || child.concurrent_ns < child.total_ns);
}

/** Seen from the loop; of a section that others are in, only its own time is meant. */
function called(state: State, path: string, above: string | null): string {
  const tail = shownPath(state.tree, path, above);
  const { node } = state.tree.places[state.tree.at.get(path) ?? 0]!;
  return path && hasSections(node) ? `${tail} (own)` : tail;
}
