import { listen } from "./hands";
import type { TimelineView } from "./view";

/** What of a minimap's frame is held. */
export type Grip = "left" | "right" | "inside" | "outside";

const NEAR_PX = { mouse: 5, touch: 14 };
const CURSORS: Record<Grip, string> = { left: "ew-resize", right: "ew-resize", inside: "grab", outside: "pointer" };

/** What of the frame is at a pixel: its edges reach outwards, and at most a third of it inwards. */
export function gripAt(px: number, leftPx: number, rightPx: number, nearPx: number): Grip {
  const inwards = Math.min(nearPx, (rightPx - leftPx) / 3);
  if (px < leftPx - nearPx || px > rightPx + nearPx) return "outside";
  if (px <= leftPx + inwards) return "left";
  return px >= rightPx - inwards ? "right" : "inside";
}

/** Where a frame is after its grip was moved; an edge does not pass the other one. */
export function dragged(grip: Grip, [fromNs, toNs]: [number, number], byNs: number, leastNs: number): [fromNs: number, toNs: number] {
  if (grip === "left") return [Math.min(fromNs + byNs, toNs - leastNs), toNs];
  if (grip === "right") return [fromNs, Math.max(toNs + byNs, fromNs + leastNs)];
  return [fromNs + byNs, toNs + byNs];
}

/** Mouse and fingers on a minimap. Returns what lets go of it. */
export function holdMinimap(canvas: HTMLCanvasElement, view: TimelineView): () => void {
  let held: { grip: Grip; px: number; period: [number, number] } | null = null;
  const { minimap } = view;
  const px = (event: PointerEvent) => event.clientX - canvas.getBoundingClientRect().left;
  const grip = (event: PointerEvent) => {
    const near = event.pointerType === "mouse" ? NEAR_PX.mouse : NEAR_PX.touch;
    return gripAt(px(event), ...minimap.frame(canvas.clientWidth, ...view.period), near);
  };
  const down = (event: PointerEvent) => {
    let found = grip(event);
    if (found === "outside") {
      // A click moves what is visible there, and it can be dragged on.
      const [from, to] = view.period;
      const middle = minimap.ns(canvas.clientWidth, px(event));
      view.showPeriod(middle - (to - from) / 2, middle + (to - from) / 2);
      found = "inside";
    }
    // Edges are held where they are seen, not in the margin past the ends of the recorded time.
    held = { grip: found, px: px(event), period: found === "inside" ? view.period : minimap.clipped(view.period) };
    canvas.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    canvas.style.cursor = held?.grip === "inside" ? "grabbing" : CURSORS[held?.grip ?? grip(event)];
    if (!held) return;
    const byNs = minimap.ns(canvas.clientWidth, px(event)) - minimap.ns(canvas.clientWidth, held.px);
    view.showPeriod(...dragged(held.grip, held.period, byNs, view.leastNs));
  };
  const up = () => (held = null);
  return listen(canvas, view, { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up });
}
