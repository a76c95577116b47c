import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import * as format from "../format";
import { containsAll, wordsOf } from "../path";
import type { State } from "../state";
import { theme } from "../theme";
import { breath, columnsOf, unpacked } from "../timeline/columns";
import { hold, press } from "../timeline/hands";
import { modelOf, rowOf } from "../timeline/model";
import { holdMinimap } from "../timeline/grips";
import { tickOf } from "../timeline/ticks";
import { TimelineView } from "../timeline/view";
import { visible } from "../visible";
import { AreaLine } from "./AreaLine";

const TALLEST = 0.7;
const LABEL =
  "Calls one by one: left and right move, plus and minus zoom, 0 shows all, comma and period go from call to call, " +
  "Enter zooms to the call, Space shows its section, M at two calls sums the time from one to the other";
const MINIMAP_LABEL = "The whole time: how many calls of the main thread were open, missed ticks in red, and what is visible as a frame";

/** The recorded calls, each as a bar from its start to its end, thread by thread. */
export function Timeline({ state }: { state: State }) {
  const facts = state.view.timeline!;
  const view = useSignal<TimelineView | null>(null);
  const problem = useSignal("");
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Unpacked when the user scrolls near: the first screen does not wait for it.
    const watcher = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        watcher.disconnect();
        read(state).then(
          (created) => (view.value = created),
          (error: unknown) => (problem.value = String(error)),
        );
      },
      { rootMargin: "600px" },
    );
    watcher.observe(container.current!);
    return () => watcher.disconnect();
  }, []);
  return (
    <div ref={container}>
      <p class="pieces">
        <span>{format.count(facts.calls)} calls</span>
        <span>
          from {format.time(facts.from_ns)} to {format.time(facts.to_ns)} of the run
        </span>
        {facts.overwritten > 0 && (
          <span class="alarm">
            {format.count(facts.overwritten)} earlier calls were overwritten (ticktree run --timeline-events)
          </span>
        )}
      </p>
      {problem.value && <p class="losses">The timeline cannot be read: {problem.value}</p>}
      {view.value ? <Shown state={state} view={view.value} /> : <p class="hint waiting">Unpacking…</p>}
    </div>
  );
}

async function read(state: State): Promise<TimelineView> {
  const facts = state.view.timeline!;
  const bytes = await unpacked(document.getElementById("ticktree-events")!.textContent!);
  const columns = await columnsOf(bytes, facts);
  await breath();
  const model = modelOf(columns, facts);
  const categories = facts.nodes.map(([path]) => state.tree.items[state.tree.indexByPath.get(path) ?? -1]?.category ?? null);
  return new TimelineView(model, facts, categories, state.loops.map((loop) => loop.path));
}

function Shown({ state, view }: { state: State; view: TimelineView }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const strip = useRef<HTMLCanvasElement>(null);
  const query = useSignal("");
  const matches = useSignal(0);
  const colors = theme.value;
  useEffect(() => {
    const letGo = [hold(canvas.current!, view), holdMinimap(strip.current!, view)];
    return () => letGo.forEach((release) => release());
  }, [view]);
  // Before the browser continues: it may be about to print.
  useLayoutEffect(() => view.show(canvas.current!, strip.current!, colors), [view, colors]);
  const search = (text: string) => {
    const words = wordsOf(text);
    const isWanted = Uint8Array.from(view.facts.nodes, ([path]) => Number(containsAll(path, words)));
    query.value = text;
    matches.value = view.search(words.length ? isWanted : null, colors);
  };
  useEffect(() => {
    const span = state.span.value;
    if (span) view.span(...span);
  }, [state.span.value]);
  const details = () => {
    const call = view.selected.value;
    if (call >= 0) state.show(view.facts.nodes[view.model.node[call]!]![0]);
  };
  return (
    <>
      <div class="tools">
        <input
          type="search"
          placeholder="Search calls"
          aria-label="Search calls"
          value={query.value}
          onInput={(event) => search(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && view.step(1)}
        />
        <div class="switch" role="group" aria-label="Zoom">
          <button type="button" aria-label="Zoom out" onClick={() => view.zoom(2)}>−</button>
          <button type="button" aria-label="Zoom in" onClick={() => view.zoom(0.5)}>+</button>
          <button type="button" onClick={() => view.all()}>all</button>
        </div>
        <span class="hint" aria-live="polite">
          {query.value.trim()
            ? `${format.count(matches.value)} calls found; Enter goes from one to the next`
            : "Drag to move, Ctrl and wheel or two fingers to zoom, double-click to zoom to a call, Shift and drag to sum."}
        </span>
      </div>
      <canvas ref={strip} class="minimap" role="img" aria-label={MINIMAP_LABEL} />
      <canvas
        ref={canvas}
        class="timeline"
        tabIndex={0}
        role="application"
        aria-label={LABEL}
        style={{ height: `${Math.round(Math.min(view.layout.heightPx, Math.max(260, TALLEST * innerHeight)))}px` }}
        onKeyDown={(event) => {
          const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
          if (!isPlain || !press(event.key, view, details)) return;
          event.preventDefault();
          // Escape closes the details only if there is no area to clear.
          if (event.key === "Escape") event.stopPropagation();
        }}
      />
      <Said state={state} view={view} details={details} />
      <AreaLine view={view} />
    </>
  );
}

/** The selected call, or the call under the mouse. */
function Said({ view, details }: { state: State; view: TimelineView; details: () => void }) {
  const { model, facts } = view;
  const selected = view.selected.value;
  const call = view.hovered.value >= 0 ? view.hovered.value : selected;
  if (call < 0) return <p class="readout hint">A click shows what a call is.</p>;
  const [path, name, recorded] = facts.nodes[model.node[call]!]!;
  const row = model.rows[rowOf(model, call)]!;
  const tick = tickOf(model, call);
  const { process_title: process, title } = facts.tracks[row.track]!;
  return (
    <p class="readout call" aria-live="polite">
      <b>
        <bdi>{visible(path) || (recorded ? name : "outside all sections")}</bdi>
      </b>
      <span>{format.time(model.durationNs[call])}</span>
      {tick && (
        <span class={tick.lateNs ? "alarm" : ""}>
          tick{tick.number !== null && ` ${format.count(tick.number)}`}
          {tick.lateNs > 0 && `, missed by ${format.time(tick.lateNs)}`}
        </span>
      )}
      <span>
        {recorded === 1 ? "handed over at" : "from"} {exactly(model.startNs[call]!)}
      </span>
      <span>
        <bdi>{process} · {title}</bdi>
      </span>
      {call === selected && (
        <>
          <button type="button" onClick={() => view.enlarge(call)}>
            Zoom to it
          </button>
          <button type="button" onClick={details}>
            Its section
          </button>
          <button type="button" onClick={() => view.mark(call)}>
            {view.markedCall.value < 0 ? "Sum from here" : "Sum to here"}
          </button>
        </>
      )}
    </p>
  );
}

/** A moment since the run began, to the microsecond. */
function exactly(ns: number): string {
  return `${(ns / 1e9).toFixed(6)} s`;
}
