import { expect, test } from "vitest";
import { logSplits } from "../src/charts/splits";

test.each([
  [1.18e9, 1.39e9],
  [1e6, 1.001e6],
  [3, 5000],
  [9.7, 10.4],
])("an axis from %d to %d has at least three round labels within it", (low, high) => {
  const splits = logSplits(low, high);
  expect(splits.length).toBeGreaterThanOrEqual(3);
  expect(splits.length).toBeLessThan(20);
  expect(Math.min(...splits)).toBeGreaterThanOrEqual(low);
  expect(Math.max(...splits)).toBeLessThanOrEqual(high);
});
