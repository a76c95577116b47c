import { describe, expect, test } from "vitest";
import { colorOfChange } from "../src/comparison/colors";
import { scaleOf } from "../src/comparison/scale";
import { linesOf, treeFrom } from "../src/comparison/state";
import type { Entry, Verdict } from "../src/comparison/types";
import { interval, rates, shift, signed } from "../src/comparison/words";
import { boxesOf } from "../src/icicle";
import { partsOf, readablePath } from "../src/path";
import { treeOf } from "../src/tree";

const SIDE = { count: 10, min_ns: 1, max_ns: 9, units: 5 };

function entry(path: string, verdict: Verdict, percent: number | null, more: Partial<Entry> = {}): Entry {
  const mean = { base_mean_ns: 1000, new_mean_ns: percent === null ? null : 1000 + 10 * percent };
  const range = { low_percent: percent === null ? null : percent - 2, high_percent: percent === null ? null : percent + 2 };
  return { path, kind: "node", verdict, shift_percent: percent, ...range, ...mean, base: SIDE, new: SIDE, ...more };
}

const ENTRIES = [
  entry("train", "no difference", 0.2),
  entry("train/sample", "inconclusive", 4),
  entry("train/update", "no difference", 0.1),
  entry("train/update/a\\/b", "slower", 40),
];

test("a path is split only at the slashes between names", () => {
  expect(partsOf("train/update/a\\/b")).toEqual(["train", "update", "a\\/b"]);
  expect(readablePath("train/a\\/b/win\\\\dir/\\e")).toBe('train/a/b/win\\dir/""');
});

test("sections that differ are shown with their ancestors", () => {
  const lines = linesOf(ENTRIES, { query: "", all: false, order: "tree" });
  expect(lines.map((line) => [line.name, line.depth])).toEqual([["train", 0], ["update", 1], ["a/b", 2]]);
  expect(linesOf(ENTRIES, { query: "", all: true, order: "tree" })).toHaveLength(4);
  expect(linesOf(ENTRIES, { query: "sample", all: false, order: "tree" }).map((line) => line.name)).toEqual(["train/sample"]);
});

test("in order of shift, the largest is first", () => {
  const lines = linesOf(ENTRIES, { query: "", all: true, order: "shift" });
  expect(lines.map((line) => line.entry.shift_percent)).toEqual([40, 4, 0.2, 0.1]);
});

test("the boxes of a side are inside their parents", () => {
  const nodes = [entry("a", "faster", -50), entry("a/b", "slower", 100), entry("a/c", "slower", 100)];
  for (const side of ["base", "new"] as const) {
    const tree = treeOf(treeFrom(nodes, side), { categories: [], category_of: [] });
    const { start, size } = boxesOf(tree);
    expect(tree.items.map((item) => item.name)).toEqual(["root", "a", "b", "c"]);
    expect(size[1]!).toBeGreaterThanOrEqual(size[2]! + size[3]!);
    expect(start[2]! + size[2]!).toBe(start[3]!);
  }
});

describe("words", () => {
  test.each([[1.66, "+1.7%"], [-33.4, "-33.4%"], [0.04, "0.0%"], [-0.04, "0.0%"], [101.3, "+101%"], [99.5, "+100%"]])(
    "%d is %s",
    (percent, text) => expect(signed(percent)).toBe(text),
  );

  test("a missing shift is absent, and a missing interval means too few values", () => {
    expect(shift(entry("a", "only in new", null))).toBe("-");
    expect(interval(entry("a", "only in new", null))).toBe("-");
    expect(interval(entry("a", "inconclusive", 4, { low_percent: null, high_percent: null }))).toBe("too few values");
    expect(interval(entry("a", "slower", 4))).toBe("+2.0% to +6.0%");
  });

  test("rates have their units", () => {
    expect(rates({ ...SIDE, ticks_per_s: 467.2, bytes_per_s: 1.2e9 })).toEqual(["467 ticks/s", "1.20 GB/s"]);
  });
});

describe("the scale", () => {
  const scale = scaleOf([entry("a", "slower", 100, { high_percent: 110 })], 2);
  test("has half as long as far to the left as twice as long to the right", () => {
    expect(scale.position(0)).toBe(0.5);
    expect(scale.position(100) - 0.5).toBeCloseTo(0.5 - scale.position(-50), 10);
  });
  test("has room for the intervals, and for a little if nothing differs", () => {
    expect(scale.position(110)).toBeLessThan(1);
    expect(scaleOf([entry("a", "no difference", 0)], 2).edge).toBeGreaterThan(Math.log(1.05));
    expect(scaleOf([entry("a", "slower", 5000)], 2).edge).toBe(Math.log(4));
  });
  test("has 0 among its marks, and no mark twice", () => {
    expect(scale.ticks).toContain(0);
    expect(new Set(scale.ticks).size).toBe(scale.ticks.length);
  });
});

describe.each(["light", "dark"] as const)("on %s paper", (theme) => {
  test("inconclusive does not look like no difference", () => {
    expect(colorOfChange("inconclusive", 30, theme)).not.toBe(colorOfChange("no difference", 0, theme));
    // No colour speaks of a shift that is not certain.
    expect(colorOfChange("inconclusive", 30, theme)).toBe(colorOfChange("inconclusive", -60, theme));
  });
  test("a larger change is stronger, up to twice as long", () => {
    const colors = [5, 30, 100].map((percent) => colorOfChange("slower", percent, theme));
    expect(new Set(colors).size).toBe(3);
    expect(colorOfChange("slower", 400, theme)).toBe(colors[2]);
    expect(colorOfChange("faster", -50, theme)).toMatch(/^#[0-9a-f]{6}$/);
  });
});
