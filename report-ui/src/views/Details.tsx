import { useEffect, useRef } from "preact/hooks";
import * as format from "../format";
import { Coded } from "../parts/Coded";
import type { State } from "../state";
import { lineage, type TreeItem, statsOf } from "../tree";
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
  const item = state.tree.items[index]!;
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
              <bdi>{state.tree.items[above]!.name}</bdi>
            </button>
          ))}
      </p>
      <h2>
        <bdi>{item.fullName}</bdi>
      </h2>
      {item.kind === "section" ? <Section state={state} item={item} /> : <p class="pieces">{item.text && <span>{item.text}</span>}</p>}
    </aside>
  );
}

function Section({ state, item }: { state: State; item: TreeItem }) {
  const { index } = item;
  return (
    <>
      <p class="pieces">
        {item.category && <span>{item.category}</span>}
        {(state.view.notes[index] ?? []).map((note) => (
          <span key={note}>{note}</span>
        ))}
      </p>
      <Numbers state={state} item={item} />
      <Calls stats={statsOf(item.node, state.phase.value)} />
      <Sites sites={item.node.call_sites ?? (item.node.call_site ? [item.node.call_site] : [])} />
      <Threads state={state} item={item} />
      <About state={state} path={item.node.path} />
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

function Numbers({ state, item }: { state: State; item: TreeItem }) {
  const { node } = item;
  const phases: [string, Stats][] = node.warmup
    ? [
        ["steady", node.steady ?? node],
        ["warm-up", node.warmup],
        ["all", node],
      ]
    : [["calls", node]];
  const parent = state.tree.items[item.parent]!;
  const parentNs = parent.node.total_ns;
  const parentName = item.parent ? parent.name : "the run";
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
  const sorted = [...sites].sort((left, right) => (right.count ?? 0) - (left.count ?? 0));
  return (
    <>
      <h3>Entered at</h3>
      <ul class="sites">
        {sorted.slice(0, SITES_SHOWN).map((site, i) => (
          <li key={i}>
            <code>{site.file ? `${visible(site.file)}:${site.line}` : "and elsewhere"}</code> {visible(site.function)}
          </li>
        ))}
        {sorted.length > SITES_SHOWN && <li>{format.count(sorted.length - SITES_SHOWN)} more call sites</li>}
      </ul>
    </>
  );
}

function Threads({ state, item }: { state: State; item: TreeItem }) {
  const parts = item.node.by_thread ?? [];
  if (parts.length < 2 || !state.report.threads) return null;
  const longest = [...parts].sort((left, right) => right[2] - left[2]);
  return (
    <>
      <h3>By thread</h3>
      <table class="numbers">
        <tbody>
          {longest.map(([index, count, totalNs]) => {
            const thread = state.report.threads![index]!;
            const name = [thread.process_name, thread.thread_name].filter(Boolean).join(" / ") || thread.id;
            return (
              <tr key={index}>
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
  const findings = state.view.screen.recommendations.filter((finding) => finding.path === path);
  if (!findings.length) return null;
  return (
    <>
      <h3>Found here</h3>
      <ul>
        {findings.map((finding, i) => (
          <li key={i}>
            <Coded text={finding.text} />
          </li>
        ))}
      </ul>
    </>
  );
}
