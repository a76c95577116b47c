import { useEffect, useRef } from "preact/hooks";
import * as format from "../format";
import { Coded } from "../parts/Coded";
import type { State } from "../state";
import { lineage, type Place, statsOf } from "../tree";
import type { CallSite, Stats } from "../types";
import { visible } from "../visible";
import { Distribution } from "../charts/Distribution";

const FIELDS = ["mean_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"] as const;
const SITES_SHOWN = 8;

/** Everything about one node, in a panel next to the page. */
export function Details({ state }: { state: State }) {
  const index = state.selected.value;
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const close = (event: KeyboardEvent) => event.key === "Escape" && (state.selected.value = null);
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, []);
  const isOpen = index !== null;
  useEffect(() => void panel.current?.scrollTo(0, 0), [index]);
  // Focus moves into the panel when a key opens it, and back when it is closed.
  useEffect(() => {
    if (!isOpen) return;
    const before = document.activeElement as HTMLElement | null;
    panel.current?.focus({ preventScroll: true });
    return () => before?.focus({ preventScroll: true });
  }, [isOpen]);
  if (index === null) return null;
  const place = state.tree.places[index]!;
  return (
    <aside ref={panel} class="details" tabIndex={-1} aria-label="Details of a section">
      <button type="button" class="plain close" aria-label="Close" onClick={() => (state.selected.value = null)}>
        ✕
      </button>
      <p class="way">
        {lineage(state.tree, index)
          .slice(1, -1)
          .map((above) => (
            <button
              key={above}
              type="button"
              class="node"
              onClick={() => (state.selected.value = above)}
            >
              <bdi>{state.tree.places[above]!.name}</bdi>
            </button>
          ))}
      </p>
      <h2>
        <bdi>{place.whole}</bdi>
      </h2>
      {place.kind === "section" ? <Section state={state} place={place} /> : <p class="pieces">{place.text && <span>{place.text}</span>}</p>}
    </aside>
  );
}

function Section({ state, place }: { state: State; place: Place }) {
  const { index } = place;
  return (
    <>
      <p class="pieces">
        {place.category && <span>{place.category}</span>}
        {(state.view.notes[index] ?? []).map((note) => (
          <span key={note}>{note}</span>
        ))}
      </p>
      <Numbers state={state} place={place} />
      <Calls stats={statsOf(place.node, state.phase.value)} />
      <Sites sites={place.node.call_sites ?? (place.node.call_site ? [place.node.call_site] : [])} />
      <Writers state={state} place={place} />
      <About state={state} path={place.node.path} />
      <p>
        <button
          type="button"
          onClick={() => {
            state.zoomTo(index);
            document.getElementById("icicle")?.scrollIntoView({ behavior: "smooth" });
          }}
        >
          Show in the icicle
        </button>
      </p>
    </>
  );
}

function Numbers({ state, place }: { state: State; place: Place }) {
  const { node } = place;
  const phases: [string, Stats][] = node.warmup
    ? [
        ["steady", node.steady ?? node],
        ["warm-up", node.warmup],
        ["all", node],
      ]
    : [["calls", node]];
  const parent = state.tree.places[place.parent]!;
  const parentNs = parent.node.total_ns;
  const parentName = place.parent ? parent.name : "the run";
  return (
    <>
      <table class="numbers">
        <tbody>
          <tr>
            <th class="words">total</th>
            <td>{format.time(node.total_ns)}</td>
            <td>{parentNs > 0 ? `${format.share(node.total_ns / parentNs)} of ${parentName}` : ""}</td>
          </tr>
          {node.children.length > 0 && (
            <tr>
              <th class="words">self</th>
              <td>{format.time(node.self_ns)}</td>
              <td>{node.total_ns > 0 ? format.share(node.self_ns / node.total_ns) : ""}</td>
            </tr>
          )}
          {node.concurrent_ns !== 0 && (
            <tr>
              <th class="words">concurrent</th>
              <td>{format.time(node.concurrent_ns)}</td>
              <td />
            </tr>
          )}
        </tbody>
      </table>
      <table class="numbers">
        <thead>
          <tr>
            <th />
            {phases.map(([name]) => (
              <th key={name}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr>
            <th class="words">count</th>
            {phases.map(([name, stats]) => (
              <td key={name}>{format.count(stats.count)}</td>
            ))}
          </tr>
          {FIELDS.map((field) => (
            <tr key={field}>
              <th class="words">{field.slice(0, -3)}</th>
              {phases.map(([name, stats]) => (
                <td key={name}>{format.time(stats[field])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Calls({ stats }: { stats: Stats | null }) {
  if (!stats || stats.histogram.length < 2) return null;
  return (
    <>
      <h3>How long calls take</h3>
      <Distribution stats={stats} budgetNs={null} height={150} />
    </>
  );
}

function Sites({ sites }: { sites: CallSite[] }) {
  if (!sites.length) return null;
  const most = [...sites].sort((left, right) => (right.count ?? 0) - (left.count ?? 0));
  return (
    <>
      <h3>Entered at</h3>
      <ul class="sites">
        {most.slice(0, SITES_SHOWN).map((site, at) => (
          <li key={at}>
            <code>{site.file ? `${visible(site.file)}:${site.line}` : "and elsewhere"}</code> {visible(site.function)}
          </li>
        ))}
        {most.length > SITES_SHOWN && <li>{format.count(most.length - SITES_SHOWN)} more call sites</li>}
      </ul>
    </>
  );
}

function Writers({ state, place }: { state: State; place: Place }) {
  const parts = place.node.by_writer ?? [];
  if (parts.length < 2 || !state.report.writers) return null;
  const longest = [...parts].sort((left, right) => right[2] - left[2]);
  return (
    <>
      <h3>By thread</h3>
      <table class="numbers">
        <tbody>
          {longest.map(([writer, count, totalNs]) => {
            const who = state.report.writers![writer]!;
            const name = [who.process_name, who.thread_name].filter(Boolean).join(" / ") || who.id;
            return (
              <tr key={writer}>
                <td class="words">
                  <bdi>{visible(name)}</bdi>
                </td>
                <td>{format.time(totalNs)}</td>
                <td>{count === 1 ? "1 call" : `${format.count(count)} calls`}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}

function About({ state, path }: { state: State; path: string }) {
  const found = state.view.screen.recommendations.filter((each) => each.path === path);
  if (!found.length) return null;
  return (
    <>
      <h3>Found here</h3>
      <ul>
        {found.map((each, at) => (
          <li key={at}>
            <Coded text={each.text} />
          </li>
        ))}
      </ul>
    </>
  );
}
