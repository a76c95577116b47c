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
  const cache = useRef<{ rows: Row[]; slots: number; lines: Map<number, VNode> }>({ rows, slots: 0, lines: new Map() });
  const focused = useRef(-1);
  const { from, to, slots } = useWindow(body, rows.length, LINE_PX);
  if (cache.current.rows !== rows || cache.current.slots !== slots) cache.current = { rows, slots, lines: new Map() };
  const { lines } = cache.current;
  const line = (row: Row, index: number): VNode => {
    const cached = lines.get(index);
    if (cached) return cached;
    // Lines that leave the screen at one end are reused at the other.
    const element = <Line key={slots ? index % slots : row.key} state={state} row={row} index={index} />;
    lines.set(index, element);
    return element;
  };
  useLayoutEffect(() => {
    for (const index of lines.keys()) if (index < from || index >= to) lines.delete(index);
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
        {rows.slice(from, to).map((row, i) => line(row, from + i))}
      </div>
    </div>
  );
}

/** Lines far away do not exist until the reader scrolls to them. */
export function focusOn(lines: HTMLElement, index: number): void {
  const find = () => lines.querySelector<HTMLElement>(`[data-place="${index}"]`);
  const top = lines.getBoundingClientRect().top + index * LINE_PX;
  if (top < 80 || top > innerHeight - 2 * LINE_PX) scrollBy({ top: top - innerHeight / 2 });
  const element = find();
  if (element) element.focus({ preventScroll: true });
  else requestAnimationFrame(() => requestAnimationFrame(() => find()?.focus({ preventScroll: true })));
}
