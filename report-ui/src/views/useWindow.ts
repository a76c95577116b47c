import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

// This few lines are always all in the document, for the browser's search.
const ALL_UP_TO = 300;
// More of them would make each frame of a long scroll slower.
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

/** Which of many equally high lines to draw: those on the screen and some around them; on paper, all. */
export function useWindow(body: RefObject<HTMLElement | null>, count: number, linePx: number): Shown {
  const [range, setRange] = useState<Window>({ from: 0, to: 80 });
  const [isPrinted, setPrinted] = useState(false);
  useLayoutEffect(() => {
    const look = () => {
      const box = body.current?.getBoundingClientRect();
      if (!box) return;
      const first = Math.floor(-box.top / linePx) - AROUND;
      const last = Math.ceil((innerHeight - box.top) / linePx) + AROUND;
      // In steps, so that a line of scrolling is not a drawing of everything.
      const from = Math.max(0, Math.floor(first / STEP) * STEP);
      const to = from + Math.ceil((last - first) / STEP) * STEP + STEP;
      setRange((before) => (before.from === from && before.to === to ? before : { from, to }));
    };
    const print = () => setPrinted(true);
    const printed = () => setPrinted(false);
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    addEventListener("beforeprint", print);
    addEventListener("afterprint", printed);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
      removeEventListener("beforeprint", print);
      removeEventListener("afterprint", printed);
    };
  }, [count, linePx]);
  if (isPrinted || count <= ALL_UP_TO) return { from: 0, to: count, slots: 0 };
  const from = Math.min(range.from, count);
  return { from, to: Math.min(count, range.to), slots: range.to - range.from };
}
