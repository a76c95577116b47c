import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { useWindow } from "../views/useWindow";
import { LINE_PX } from "./lines";

interface Props<Row> {
  rows: readonly Row[];
  children: (row: Row, index: number) => VNode;
}

/** The rows of a table, of many only those on the screen. */
export function Rows<Row>({ rows, children }: Props<Row>) {
  const body = useRef<HTMLDivElement>(null);
  const { from, to } = useWindow(body, rows.length, LINE_PX);
  return (
    <div ref={body} class="lines" role="rowgroup" style={{ height: `${rows.length * LINE_PX}px` }}>
      <div style={{ transform: `translateY(${from * LINE_PX}px)` }}>
        {rows.slice(from, to).map((row, i) => children(row, from + i))}
      </div>
    </div>
  );
}
