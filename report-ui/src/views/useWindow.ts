import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

// So few lines are all there at all times, for a browser's own search.
const ALL_UP_TO = 300;
const AROUND = 10;

interface Window {
  from: number;
  to: number;
}

/** Which of many equally high lines to draw: those on the screen and some around them; on paper, all. */
export function useWindow(body: RefObject<HTMLElement | null>, count: number, linePx: number): Window {
  const [seen, setSeen] = useState<Window>({ from: 0, to: 80 });
  const [isPrinted, setPrinted] = useState(false);
  useLayoutEffect(() => {
    const look = () => {
      const box = body.current?.getBoundingClientRect();
      if (!box) return;
      const first = Math.floor(-box.top / linePx) - AROUND;
      const last = Math.ceil((innerHeight - box.top) / linePx) + AROUND;
      // In steps, so that a line of scrolling is not a drawing of everything.
      const from = Math.max(0, Math.floor(first / 10) * 10);
      const to = Math.max(from, Math.ceil(last / 10) * 10);
      setSeen((before) => (before.from === from && before.to === to ? before : { from, to }));
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
  if (isPrinted || count <= ALL_UP_TO) return { from: 0, to: count };
  const from = Math.min(seen.from, count);
  return { from, to: Math.min(count, seen.to) };
}
