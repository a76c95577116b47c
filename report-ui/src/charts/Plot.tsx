import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import * as format from "../format";
import { ink, theme } from "../theme";
import { logSplits } from "./splits";

export type Plan = Omit<uPlot.Options, "width" | "height">;

// What all charts have in common.
const COMMON: Partial<Plan> = { cursor: { y: false, points: { show: false } }, legend: { show: false } };
// Above this factor, the worst ticks would flatten all others on a linear axis.
export const FLAT = 12;

interface Props {
  height: number;
  label: string;
  data: uPlot.AlignedData;
  plan: () => Plan;
  onPick?: (left: number, top: number, plot: uPlot) => void;
  /** The text for the position under the cursor; "" for none. */
  read?: (index: number, plot: uPlot) => string;
}

/** A chart as wide as its container, redrawn when that or the colours change. */
export function Plot({ height, label, data, plan, onPick, read }: Props) {
  const tooltip = useRef<HTMLDivElement>(null);
  const container = useRef<HTMLDivElement>(null);
  const colors = theme.value;
  // Before the browser continues: it may be about to print.
  useLayoutEffect(() => {
    const element = container.current!;
    const width = () => Math.max(200, element.clientWidth);
    const plan_ = plan();
    const showReading = (plot: uPlot) => {
      const { idx, left } = plot.cursor;
      tooltip.current!.textContent = idx === null || idx === undefined || (left ?? -1) < 0 ? "" : read!(idx, plot);
    };
    const hooks = read ? { ...plan_.hooks, setCursor: [showReading] } : plan_.hooks;
    const plot = new uPlot({ ...COMMON, ...plan_, ...(hooks ? { hooks } : {}), width: width(), height }, data, element);
    if (onPick) {
      plot.over.style.cursor = "pointer";
      plot.over.addEventListener("click", (event) => onPick(event.offsetX, event.offsetY, plot));
    }
    const watcher = new ResizeObserver(() => plot.setSize({ width: width(), height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [colors, data, height]);
  return (
    <div class="plot">
      <div ref={container} role="img" aria-label={label} style={{ minHeight: `${height}px` }} />
      <div ref={tooltip} class="tooltip" aria-hidden="true" />
    </div>
  );
}

/** An axis in the page's ink, with hairlines only where they help to read. */
export function axis(over: Partial<uPlot.Axis>): uPlot.Axis {
  return {
    stroke: ink("faint"),
    font: `11px ${ink("font")}`,
    grid: { stroke: ink("hair"), width: 1 },
    ticks: { show: false },
    size: 30,
    ...over,
  };
}

/** An axis of durations, perhaps logarithmic. */
export function durationAxis(isLog: boolean, low: number, high: number): uPlot.Axis {
  const logarithmic: Partial<uPlot.Axis> = { splits: () => logSplits(low, high), filter: (_plot, splits) => splits };
  return axis({ size: 60, ...(isLog ? logarithmic : {}), values: (_plot, all) => all.map(tick) });
}

/** A time on an axis, without a unit at its start. */
export function tick(ns: number | null): string {
  return ns === null ? "" : ns === 0 ? "0" : format.time(ns);
}

/** A dashed line with a label, drawn on top of a chart. */
export function markLine(scale: "x" | "y", value: number, label: string, color: string, row = 0): (plot: uPlot) => void {
  return (plot) => {
    const { ctx, bbox } = plot;
    const position = Math.round(plot.valToPos(value, scale, true));
    const isUpright = scale === "x";
    const [start, size] = isUpright ? [bbox.left, bbox.width] : [bbox.top, bbox.height];
    if (position < start || position > start + size) return;
    ctx.save();
    ctx.strokeStyle = color;
    ctx.fillStyle = color;
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(isUpright ? position : bbox.left, isUpright ? bbox.top : position);
    ctx.lineTo(isUpright ? position : bbox.left + bbox.width, isUpright ? bbox.top + bbox.height : position);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.font = `${11 * devicePixelRatio}px ${ink("font")}`;
    const write = (left: number, top: number) => {
      // With a halo of the background colour, because it may overlap the chart.
      ctx.strokeStyle = ink("paper");
      ctx.lineWidth = 4 * devicePixelRatio;
      ctx.strokeText(label, left, top);
      ctx.fillText(label, left, top);
    };
    const gap = 4 * devicePixelRatio;
    if (isUpright) {
      const fits = position + gap + ctx.measureText(label).width < bbox.left + bbox.width;
      ctx.textAlign = fits ? "left" : "right";
      write(fits ? position + gap : position - gap, bbox.top + (10 + 13 * row) * devicePixelRatio);
    } else {
      ctx.textAlign = "right";
      write(bbox.left + bbox.width, position - gap);
    }
    ctx.restore();
  };
}
