import type { Scale } from "./scale";
import type { Entry } from "./types";
import { classOf, interval, shift, worded, signed } from "./words";

interface Props {
  entry: Entry;
  scale: Scale;
  threshold: number;
  axis?: boolean;
}

/** A shift and its interval on a line, with 0 and the range that is too small to matter. */
export function Interval({ entry, scale, threshold, axis }: Props) {
  const percent = (part: number) => `${100 * Math.min(1, Math.max(0, part))}%`;
  const { shift_percent: moved, low_percent: low, high_percent: high } = entry;
  const left = scale.at(-threshold);
  const band = { left: percent(left), width: percent(scale.at(threshold) - left) };
  const has = low !== null && high !== null;
  const [from, to] = has ? [scale.at(low), scale.at(high)] : [0, 0];
  return (
    <div class={`interval ${classOf(entry.verdict)}${axis ? " with-axis" : ""}`} role="img" aria-label={`${worded(entry.verdict)}: ${shift(entry)}, ${interval(entry)}`}>
      <i class="band" style={band} />
      <i class="zero" style={{ left: "50%" }} />
      {has && (
        <i
          class={`reach${from < 0 ? " past-left" : ""}${to > 1 ? " past-right" : ""}`}
          style={{ left: percent(from), width: `${100 * (Math.min(1, Math.max(0, to)) - Math.min(1, Math.max(0, from)))}%` }}
        />
      )}
      {moved !== null && <b class={scale.at(moved) > 1 ? "past-right" : scale.at(moved) < 0 ? "past-left" : ""} style={{ left: percent(scale.at(moved)) }} />}
      {moved === null && <em>{worded(entry.verdict)}</em>}
      {axis && scale.ticks.map((tick) => (
        <span key={tick} style={{ left: percent(scale.at(tick)) }}>
          {tick ? signed(tick).replace(".0%", "%") : "0"}
        </span>
      ))}
    </div>
  );
}
