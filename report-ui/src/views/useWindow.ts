import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

// If there are no more lines than this, all are in the document, for the browser's search.
const ALL_UP_TO = 300;
// More lines would make each frame of a long scroll slower.
const AROUND = 4;
const STEP = 5;

interface Window {
  from: number;
  to: number;
}

/** Lines to draw, and the number of elements that are reused for them; 0 if each line has its own element. */
interface Shown extends Window {
  slots: number;
}

/** The lines to draw of many equally high ones: those on the screen and some around them; on paper, all. */
export function useWindow(body: RefObject<HTMLElement | null>, count: number, linePx: number): Shown {
  const [range, setRange] = useState<Window>({ from: 0, to: 80 });
  const [isPrinted, setPrinted] = useState(false);
  useLayoutEffect(() => {
    const update = () => {
      const box = body.current?.getBoundingClientRect();
      if (!box) return;
      const first = Math.floor(-box.top / linePx) - AROUND;
      const last = Math.ceil((innerHeight - box.top) / linePx) + AROUND;
      // In steps, so that scrolling by a line does not redraw everything.
      const from = Math.max(0, Math.floor(first / STEP) * STEP);
      const to = from + Math.ceil((last - first) / STEP) * STEP + STEP;
      setRange((previous) => (previous.from === from && previous.to === to ? previous : { from, to }));
    };
    const print = () => setPrinted(true);
    const printed = () => setPrinted(false);
    update();
    addEventListener("scroll", update, { passive: true });
    addEventListener("resize", update);
    addEventListener("beforeprint", print);
    addEventListener("afterprint", printed);
    return () => {
      removeEventListener("scroll", update);
      removeEventListener("resize", update);
      removeEventListener("beforeprint", print);
      removeEventListener("afterprint", printed);
    };
  }, [count, linePx]);
  if (isPrinted || count <= ALL_UP_TO) return { from: 0, to: count, slots: 0 };
  const from = Math.min(range.from, count);
  return { from, to: Math.min(count, range.to), slots: range.to - range.from };
}
