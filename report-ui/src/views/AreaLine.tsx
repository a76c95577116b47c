import * as format from "../format";
import { type Area, sumsOf } from "../timeline/area";
import type { TimelineView } from "../timeline/view";
import { visible } from "../visible";

const SHOWN = 5;

/** The selected time: its length, and the self time of the largest sections in it. */
export function AreaLine({ view }: { view: TimelineView }) {
  const area = view.area.value;
  // The element always exists, so that screen readers notice its new content.
  return <div aria-live="polite">{area && <Selected view={view} area={area} />}</div>;
}

function Selected({ view, area }: { view: TimelineView; area: Area }) {
  const { process_title: process, title } = view.facts.tracks[area.track]!;
  return (
    <>
      <p class="readout call">
        <b>{format.time(area.toNs - area.fromNs)} selected</b>
        <span>
          <bdi>{process} · {title}</bdi>
        </span>
        {view.markedCall.value >= 0 && <span>M at another call moves the end there</span>}
        <button type="button" onClick={() => view.clearArea()}>
          Clear
        </button>
      </p>
      {view.isSummed(area) && <Sums view={view} area={area} />}
    </>
  );
}

function Sums({ view, area }: { view: TimelineView; area: Area }) {
  const { nodes } = view.facts;
  const { sections, outsideNs } = sumsOf(view.model, area);
  const timeText = (ns: number) => `${format.time(Math.round(ns))} (${format.share(ns / (area.toNs - area.fromNs))})`;
  const rest = sections.slice(SHOWN);
  const restNs = rest.reduce((sum, { selfNs }) => sum + selfNs, 0);
  return (
    <p class="pieces area">
      <span>self time</span>
      {sections.slice(0, SHOWN).map(({ node, selfNs, calls }) => (
        <span key={node}>
          <b>
            <bdi>{visible(nodes[node]![0]) || nodes[node]![1]}</bdi>
          </b>{" "}
          {timeText(selfNs)} in {format.count(calls)} call{calls !== 1 && "s"}
        </span>
      ))}
      {rest.length > 0 && (
        <span>
          {format.count(rest.length)} other section{rest.length > 1 && "s"} {timeText(restNs)}
        </span>
      )}
      {outsideNs > 0.5 && <span>outside all sections {timeText(outsideNs)}</span>}
    </p>
  );
}
