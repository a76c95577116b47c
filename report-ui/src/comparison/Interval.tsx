import type { Scale } from "./scale";
import type { Entry } from "./types";
import { classOf, interval, shift, verdictText, signed } from "./words";

interface Props {
  entry: Entry;
  scale: Scale;
  threshold: number;
  axis?: boolean;
}

/** A shift and its interval on a line, with 0 and the range that is too small to matter. */
export function Interval({ entry, scale, threshold, axis }: Props) {
  const percent = (part: number) => `${100 * Math.min(1, Math.max(0, part))}%`;
  const { shift_percent: shiftPercent, low_percent: low, high_percent: high } = entry;
  const left = scale.position(-threshold);
  const band = { left: percent(left), width: percent(scale.position(threshold) - left) };
  const hasInterval = low !== null && high !== null;
  const [from, to] = hasInterval ? [scale.position(low), scale.position(high)] : [0, 0];
  return (
    <div class={`interval ${classOf(entry.verdict)}${axis ? " with-axis" : ""}`} role="img" aria-label={`${verdictText(entry.verdict)}: ${shift(entry)}, ${interval(entry)}`}>
      <i class="band" style={band} />
      <i class="zero" style={{ left: "50%" }} />
      {hasInterval && (
        <i
          class={`reach${from < 0 ? " past-left" : ""}${to > 1 ? " past-right" : ""}`}
          style={{ left: percent(from), width: `${100 * (Math.min(1, Math.max(0, to)) - Math.min(1, Math.max(0, from)))}%` }}
        />
      )}
      {shiftPercent !== null && <b class={scale.position(shiftPercent) > 1 ? "past-right" : scale.position(shiftPercent) < 0 ? "past-left" : ""} style={{ left: percent(scale.position(shiftPercent)) }} />}
      {shiftPercent === null && <em>{verdictText(entry.verdict)}</em>}
      {axis && scale.ticks.map((tick) => (
        <span key={tick} style={{ left: percent(scale.position(tick)) }}>
          {tick ? signed(tick).replace(".0%", "%") : "0"}
        </span>
      ))}
    </div>
  );
}
