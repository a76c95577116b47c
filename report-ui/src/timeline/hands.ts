import type { TimelineView } from "./view";

const CLICK_PX = 4;
const WHEEL = 0.0022;

/** Mouse, fingers and wheel on a timeline's canvas. Returns what lets go of it. */
export function hold(canvas: HTMLCanvasElement, view: TimelineView): () => void {
  const fingers = new Map<number, { x: number; y: number }>();
  let moved = 0;
  const place = (event: PointerEvent | MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const down = (event: PointerEvent) => {
    fingers.set(event.pointerId, place(event));
    moved = fingers.size > 1 ? CLICK_PX : 0;
    canvas.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const now = place(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") view.hover(view.call(now.x, now.y));
      return;
    }
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (fingers.size > 1) pinch(fingers, event.pointerId, now, view);
    else if (moved >= CLICK_PX) {
      view.pan(before.x - now.x);
      view.scroll(before.y - now.y);
    }
    fingers.set(event.pointerId, now);
  };
  const up = (event: PointerEvent) => {
    const now = place(event);
    if (fingers.delete(event.pointerId) && event.type === "pointerup" && moved < CLICK_PX) {
      view.select(view.call(now.x, now.y));
    }
  };
  const leave = () => view.hover(-1);
  const enlarge = (event: MouseEvent) => {
    const { x, y } = place(event);
    const call = view.call(x, y);
    if (call >= 0) view.enlarge(call);
  };
  const wheel = (event: WheelEvent) => {
    if (event.ctrlKey || event.metaKey) view.zoom(Math.exp(event.deltaY * WHEEL), place(event).x);
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan(event.deltaX || event.deltaY);
    else return; // the page's own
    event.preventDefault();
  };
  const listeners = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, pointerleave: leave };
  for (const [name, listener] of Object.entries(listeners)) canvas.addEventListener(name, listener as EventListener);
  canvas.addEventListener("dblclick", enlarge);
  canvas.addEventListener("wheel", wheel, { passive: false });
  const watcher = new ResizeObserver(() => view.draw());
  watcher.observe(canvas);
  return () => {
    watcher.disconnect();
    for (const [name, listener] of Object.entries(listeners)) canvas.removeEventListener(name, listener as EventListener);
    canvas.removeEventListener("dblclick", enlarge);
    canvas.removeEventListener("wheel", wheel);
    view.leave();
  };
}

/** Two fingers: what was between them stays between them. */
function pinch(
  fingers: ReadonlyMap<number, { x: number; y: number }>,
  id: number,
  now: { x: number; y: number },
  view: TimelineView,
): void {
  const before = fingers.get(id)!;
  const other = [...fingers].find(([one]) => one !== id)![1];
  const wide = Math.max(10, Math.abs(now.x - other.x));
  const was = Math.max(10, Math.abs(before.x - other.x));
  view.zoom(was / wide, (now.x + other.x) / 2);
  view.pan((before.x - now.x) / 2);
}

/** What each key does; true where it did something. */
export function press(key: string, view: TimelineView, details: () => void): boolean {
  const far = view.width / 8;
  const moves: Record<string, () => void> = {
    ArrowLeft: () => view.pan(-far),
    ArrowRight: () => view.pan(far),
    ArrowUp: () => view.scroll(-36),
    ArrowDown: () => view.scroll(36),
    a: () => view.pan(-far),
    d: () => view.pan(far),
    w: () => view.zoom(1 / 1.5),
    s: () => view.zoom(1.5),
    "+": () => view.zoom(1 / 1.5),
    "=": () => view.zoom(1 / 1.5),
    "-": () => view.zoom(1.5),
    "0": () => view.all(),
    Home: () => view.all(),
    ".": () => view.step(1),
    ",": () => view.step(-1),
    Enter: () => (view.selected.value < 0 ? view.step(1) : view.enlarge(view.selected.value)),
    " ": details,
  };
  const move = moves[key];
  move?.();
  return move !== undefined;
}
