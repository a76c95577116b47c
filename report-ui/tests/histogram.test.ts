import { expect, test } from "vitest";
import { barsOf, startOf } from "../src/histogram";

test("an octave is 32 buckets", () => {
  expect(startOf(32) / startOf(0)).toBe(2);
});

test("all calls are in the bars, and the curve ends at 1", () => {
  const bars = barsOf([[100, 1], [103, 2], [250, 5]], 20);
  expect(bars.parts.reduce((sum, part) => sum + part, 0)).toBeCloseTo(1);
  expect(bars.cumulative.at(-1)).toBe(1);
  expect(bars.edges.length).toBe(bars.parts.length + 1);
  expect(bars.parts.length).toBeLessThanOrEqual(20);
});

test("the ends of the bars hold every value counted", () => {
  const bars = barsOf([[640, 3], [700, 1]], 10);
  expect(bars.edges[0]).toBe(startOf(640));
  expect(bars.edges.at(-1)!).toBeGreaterThanOrEqual(startOf(701));
});

test("an empty histogram has no bars", () => {
  expect(barsOf([], 10)).toEqual({ edges: [], parts: [], cumulative: [] });
});
