import { useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { ink, theme } from "../theme";

export type Plan = Omit<uPlot.Options, "width" | "height">;

interface Props {
  height: number;
  label: string;
  data: uPlot.AlignedData;
  plan: () => Plan;
  onPick?: (left: number, top: number, plot: uPlot) => void;
}

/** A chart as wide as its place, drawn anew when that or the colours change. */
export function Plot({ height, label, data, plan, onPick }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const colors = theme.value;
  // Before the browser goes on: it may be about to print.
  useLayoutEffect(() => {
    const element = place.current!;
    const width = () => Math.max(200, element.clientWidth);
    const plot = new uPlot({ ...plan(), width: width(), height }, data, element);
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
  return <div ref={place} class="plot" role="img" aria-label={label} style={{ minHeight: `${height}px` }} />;
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

/** Round numbers within bounds for a logarithmic axis: the powers of ten, and as many between them as there is room for. */
export function logSplits(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : decades > 0.8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    found.push(...steps.map((step) => step * 10 ** power));
  }
  return found.filter((value) => value >= low && value <= high);
}

/** A dashed line across a chart with a word on it, drawn on top. */
export function marked(scale: "x" | "y", value: number, label: string, color: string): (plot: uPlot) => void {
  return (plot) => {
    const { ctx, bbox } = plot;
    const at = Math.round(plot.valToPos(value, scale, true));
    const isUpright = scale === "x";
    const [start, size] = isUpright ? [bbox.left, bbox.width] : [bbox.top, bbox.height];
    if (at < start || at > start + size) return;
    ctx.save();
    ctx.strokeStyle = color;
    ctx.fillStyle = color;
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(isUpright ? at : bbox.left, isUpright ? bbox.top : at);
    ctx.lineTo(isUpright ? at : bbox.left + bbox.width, isUpright ? bbox.top + bbox.height : at);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.font = `${11 * devicePixelRatio}px ${ink("font")}`;
    const write = (left: number, top: number) => {
      // On a halo of paper, for it may lie on what the chart shows.
      ctx.strokeStyle = ink("paper");
      ctx.lineWidth = 4 * devicePixelRatio;
      ctx.strokeText(label, left, top);
      ctx.fillText(label, left, top);
    };
    const gap = 4 * devicePixelRatio;
    if (isUpright) {
      const fits = at + gap + ctx.measureText(label).width < bbox.left + bbox.width;
      ctx.textAlign = fits ? "left" : "right";
      write(fits ? at + gap : at - gap, bbox.top + 10 * devicePixelRatio);
    } else {
      ctx.textAlign = "right";
      write(bbox.left + bbox.width, at - gap);
    }
    ctx.restore();
  };
}
