import { listen } from "./hands";
import type { TimelineView } from "./view";

/** The part of a minimap's frame that the reader holds. */
export type Grip = "left" | "right" | "inside" | "outside";

const NEAR_PX = { mouse: 5, touch: 14 };
const CURSORS: Record<Grip, string> = { left: "ew-resize", right: "ew-resize", inside: "grab", outside: "pointer" };

/** The part of the frame at a pixel: edges extend outwards, and inwards by at most a third of the frame. */
export function gripAt(px: number, leftPx: number, rightPx: number, nearPx: number): Grip {
  const inwards = Math.min(nearPx, (rightPx - leftPx) / 3);
  if (px < leftPx - nearPx || px > rightPx + nearPx) return "outside";
  if (px <= leftPx + inwards) return "left";
  return px >= rightPx - inwards ? "right" : "inside";
}

/** The frame after its grip was moved; the edges do not pass each other. */
export function drag(grip: Grip, [fromNs, toNs]: [number, number], byNs: number, minNs: number): [fromNs: number, toNs: number] {
  if (grip === "left") return [Math.min(fromNs + byNs, toNs - minNs), toNs];
  if (grip === "right") return [fromNs, Math.max(toNs + byNs, fromNs + minNs)];
  return [fromNs + byNs, toNs + byNs];
}

/** Handles mouse and fingers on a minimap. Returns a function that stops it. */
export function holdMinimap(canvas: HTMLCanvasElement, view: TimelineView): () => void {
  let dragging: { grip: Grip; px: number; period: [number, number] } | null = null;
  const { minimap } = view;
  const px = (event: PointerEvent) => event.clientX - canvas.getBoundingClientRect().left;
  const grip = (event: PointerEvent) => {
    const near = event.pointerType === "mouse" ? NEAR_PX.mouse : NEAR_PX.touch;
    return gripAt(px(event), ...minimap.frame(canvas.clientWidth, ...view.period), near);
  };
  const down = (event: PointerEvent) => {
    let target = grip(event);
    if (target === "outside") {
      // A click moves the visible period there, and a drag continues from it.
      const [from, to] = view.period;
      const middle = minimap.ns(canvas.clientWidth, px(event));
      view.showPeriod(middle - (to - from) / 2, middle + (to - from) / 2);
      target = "inside";
    }
    // Edges are held where they are drawn, not in the margin beyond the recorded time.
    dragging = { grip: target, px: px(event), period: target === "inside" ? view.period : minimap.clipped(view.period) };
    canvas.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    canvas.style.cursor = dragging?.grip === "inside" ? "grabbing" : CURSORS[dragging?.grip ?? grip(event)];
    if (!dragging) return;
    const byNs = minimap.ns(canvas.clientWidth, px(event)) - minimap.ns(canvas.clientWidth, dragging.px);
    view.showPeriod(...drag(dragging.grip, dragging.period, byNs, view.minNs));
  };
  const up = () => (dragging = null);
  return listen(canvas, view, { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up });
}
