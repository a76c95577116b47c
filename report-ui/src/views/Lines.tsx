import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { LINE_PX } from "../parts/lines";
import type { Row } from "../rows";
import type { State } from "../state";
import { Line } from "./Line";
import { useWindow } from "./useWindow";

interface Props {
  state: State;
  rows: Row[];
  onKeyDown: (event: KeyboardEvent) => void;
}

/** The ledger's lines; of many lines only the visible ones, in elements that are reused while scrolling. */
export function Lines({ state, rows, onKeyDown }: Props) {
  const body = useRef<HTMLDivElement>(null);
  const drawn = useRef<{ rows: Row[]; slots: number; lines: Map<number, VNode> }>({ rows, slots: 0, lines: new Map() });
  const focused = useRef(-1);
  const { from, to, slots } = useWindow(body, rows.length, LINE_PX);
  if (drawn.current.rows !== rows || drawn.current.slots !== slots) drawn.current = { rows, slots, lines: new Map() };
  const { lines } = drawn.current;
  const line = (row: Row, place: number): VNode => {
    const known = lines.get(place);
    if (known) return known;
    // What leaves the screen at one end is what comes in at the other.
    const made = <Line key={slots ? place % slots : row.key} state={state} row={row} place={place} />;
    lines.set(place, made);
    return made;
  };
  useLayoutEffect(() => {
    for (const place of lines.keys()) if (place < from || place >= to) lines.delete(place);
    // A reused element must not keep the focus of the line that it showed before.
    const active = document.activeElement as HTMLElement | null;
    if (active && body.current!.contains(active) && active.dataset["place"] !== String(focused.current)) active.blur();
  }, [from, to]);
  return (
    <div
      ref={body}
      class="lines"
      role="rowgroup"
      style={{ height: `${rows.length * LINE_PX}px` }}
      onKeyDown={onKeyDown}
      onFocusIn={(event) => (focused.current = Number((event.target as HTMLElement).dataset["place"]))}
    >
      <div style={{ transform: `translateY(${from * LINE_PX}px)` }}>
        {rows.slice(from, to).map((row, at) => line(row, from + at))}
      </div>
    </div>
  );
}

/** Lines far away are not there until they are scrolled to. */
export function focusOn(lines: HTMLElement, place: number): void {
  const find = () => lines.querySelector<HTMLElement>(`[data-place="${place}"]`);
  const top = lines.getBoundingClientRect().top + place * LINE_PX;
  if (top < 80 || top > innerHeight - 2 * LINE_PX) scrollBy({ top: top - innerHeight / 2 });
  const now = find();
  if (now) now.focus({ preventScroll: true });
  else requestAnimationFrame(() => requestAnimationFrame(() => find()?.focus({ preventScroll: true })));
}
