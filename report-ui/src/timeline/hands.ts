import type { TimelineView } from "./view";

const CLICK_PX = 4;
const WHEEL = 0.0022;

/** Handles mouse, fingers and wheel on a timeline's canvas. Returns a function that stops it. */
export function hold(canvas: HTMLCanvasElement, view: TimelineView): () => void {
  const fingers = new Map<number, { x: number; y: number }>();
  let moved = 0;
  // Where an area begins.
  let area: { ns: number; track: number } | null = null;
  const position = (event: PointerEvent | MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const down = (event: PointerEvent) => {
    fingers.set(event.pointerId, position(event));
    moved = fingers.size > 1 ? CLICK_PX : 0;
    const { x, y } = position(event);
    area = event.shiftKey ? { ns: view.moment(x), track: view.track(y) } : null;
    canvas.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    const now = position(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") view.hover(view.call(now.x, now.y));
      return;
    }
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (area) view.selectArea(area.ns, view.moment(now.x), area.track, true);
    else if (fingers.size > 1) pinch(fingers, event.pointerId, now, view);
    else if (moved >= CLICK_PX) {
      view.pan(before.x - now.x);
      view.scroll(before.y - now.y);
    }
    fingers.set(event.pointerId, now);
  };
  const up = (event: PointerEvent) => {
    const now = position(event);
    const isLet = fingers.delete(event.pointerId);
    if (area) {
      view.selectArea(area.ns, view.moment(now.x), area.track, false);
      area = null;
    } else if (isLet && event.type === "pointerup" && moved < CLICK_PX) {
      view.select(view.call(now.x, now.y));
    }
  };
  const leave = () => view.hover(-1);
  const enlarge = (event: MouseEvent) => {
    const { x, y } = position(event);
    const call = view.call(x, y);
    if (call >= 0) view.enlarge(call);
  };
  const wheel = (event: WheelEvent) => {
    if (event.ctrlKey || event.metaKey) view.zoom(Math.exp(event.deltaY * WHEEL), position(event).x);
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan(event.deltaX || event.deltaY);
    else return; // the page's own
    event.preventDefault();
  };
  const listeners = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, pointerleave: leave };
  const letGo = listen(canvas, view, { ...listeners, dblclick: enlarge, wheel });
  return () => {
    letGo();
    view.leave();
  };
}

/** Redraws a canvas when its size changes. Returns a function that stops it. */
export function listen(canvas: HTMLCanvasElement, view: TimelineView, listeners: Record<string, (event: never) => void>): () => void {
  const stop = new AbortController();
  const options = { passive: false, signal: stop.signal };
  for (const [name, listener] of Object.entries(listeners)) canvas.addEventListener(name, listener as EventListener, options);
  const watcher = new ResizeObserver(() => view.draw());
  watcher.observe(canvas);
  return () => {
    stop.abort();
    watcher.disconnect();
  };
}

/** Zooms by two fingers: the time between them stays between them. */
function pinch(
  fingers: ReadonlyMap<number, { x: number; y: number }>,
  id: number,
  position: { x: number; y: number },
  view: TimelineView,
): void {
  const before = fingers.get(id)!;
  const otherFinger = [...fingers].find(([finger]) => finger !== id)![1];
  const distance = Math.max(10, Math.abs(position.x - otherFinger.x));
  const oldDistance = Math.max(10, Math.abs(before.x - otherFinger.x));
  view.zoom(oldDistance / distance, (position.x + otherFinger.x) / 2);
  view.pan((before.x - position.x) / 2);
}

/** Performs a key's action; returns whether it has one. */
export function press(key: string, view: TimelineView, details: () => void): boolean {
  const step = view.width / 8;
  const moves: Record<string, () => void> = {
    ArrowLeft: () => view.pan(-step),
    ArrowRight: () => view.pan(step),
    ArrowUp: () => view.scroll(-36),
    ArrowDown: () => view.scroll(36),
    a: () => view.pan(-step),
    d: () => view.pan(step),
    w: () => view.zoom(1 / 1.5),
    s: () => view.zoom(1.5),
    "+": () => view.zoom(1 / 1.5),
    "=": () => view.zoom(1 / 1.5),
    "-": () => view.zoom(1.5),
    "0": () => view.all(),
    Home: () => view.all(),
    ".": () => view.step(1),
    ",": () => view.step(-1),
    m: () => view.mark(view.selected.value),
    Enter: () => (view.selected.value < 0 ? view.step(1) : view.enlarge(view.selected.value)),
    " ": details,
  };
  if (key === "Escape") return view.clearArea();
  const move = moves[key];
  move?.();
  return move !== undefined;
}
