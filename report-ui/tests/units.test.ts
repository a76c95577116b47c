import { expect, test } from "vitest";
import { rowsOf } from "../src/rows";
import type { Unit } from "../src/types";
import { timesByUnit, spreadOf, unitOf } from "../src/units";
import { node, tree } from "./trees";

const UNITS: Unit[] = [
  { title: "learner", short: "learner", threads: [2] },
  { title: "worker 0", short: "worker 0", threads: [0, 3] },
  { title: "worker 1", short: "1", threads: [1] },
];
const STEP = node("step", 5, [], {
  by_thread: [
    [0, 1, 40, 4],
    [1, 2, 90, 9],
    [3, 1, 10, 1],
  ],
});

test("a unit has the time of its threads, and none is not 0", () => {
  expect(timesByUnit(STEP, false, unitOf(UNITS), 3)).toEqual([null, 50, 90]);
  expect(timesByUnit(STEP, true, unitOf(UNITS), 3)).toEqual([null, 5, 9]);
});

test.each([
  [[null, 50, 90], { units: 2, minNs: 50, medianNs: 70, maxNs: 90, slowest: 2 }],
  [[7, 7, null], { units: 2, minNs: 7, medianNs: 7, maxNs: 7, slowest: 0 }],
  [[1, 2, null], { units: 2, minNs: 1, medianNs: 2, maxNs: 2, slowest: 1 }],
  [[2, 3, null], { units: 2, minNs: 2, medianNs: 2, maxNs: 3, slowest: 1 }],
  [[9, 1, 4], { units: 3, minNs: 1, medianNs: 4, maxNs: 9, slowest: 0 }],
  [[null, null], null],
])("the spread of %j is %j", (amounts, spread) => {
  expect(spreadOf(amounts)).toEqual(spread);
});

test("lines can be sorted by the time of a unit", () => {
  const quick = node("quick", 9, [], { by_thread: [[1, 1, 9, 9]] });
  const of = tree(quick, STEP);
  const asked = { open: new Set<number>(), query: "", descending: true, phase: "all", units: UNITS } as const;
  const names = (sort: "unit 1" | "unit 2" | "most") =>
    rowsOf(of, { outlived: [], itself: { total_ns: 0, calls: 0 }, mean_ticks: [] }, { ...asked, sort, descending: sort !== "unit 2" })
      .filter((row) => row.kind === "section")
      .map((row) => of.items[row.index]!.name);
  expect(names("unit 1")).toEqual(["step", "quick"]);
  expect(names("unit 2")).toEqual(["quick", "step"]);
  expect(names("most")).toEqual(["step", "quick"]);
});
