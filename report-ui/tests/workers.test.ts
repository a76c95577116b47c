import { expect, test } from "vitest";
import { rowsOf } from "../src/rows";
import type { WorkerColumn } from "../src/types";
import { timesByWorker, spreadOf, workerOf } from "../src/workers";
import { node, tree } from "./trees";

const WORKERS: WorkerColumn[] = [
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

test("a worker has the time of its threads, and none is not 0", () => {
  expect(timesByWorker(STEP, false, workerOf(WORKERS), 3)).toEqual([null, 50, 90]);
  expect(timesByWorker(STEP, true, workerOf(WORKERS), 3)).toEqual([null, 5, 9]);
});

test.each([
  [[null, 50, 90], { workers: 2, minNs: 50, medianNs: 70, maxNs: 90, slowest: 2 }],
  [[7, 7, null], { workers: 2, minNs: 7, medianNs: 7, maxNs: 7, slowest: 0 }],
  [[1, 2, null], { workers: 2, minNs: 1, medianNs: 2, maxNs: 2, slowest: 1 }],
  [[2, 3, null], { workers: 2, minNs: 2, medianNs: 2, maxNs: 3, slowest: 1 }],
  [[9, 1, 4], { workers: 3, minNs: 1, medianNs: 4, maxNs: 9, slowest: 0 }],
  [[null, null], null],
])("the spread of %j is %j", (amounts, spread) => {
  expect(spreadOf(amounts)).toEqual(spread);
});

test("lines can be sorted by the time of a worker", () => {
  const quick = node("quick", 9, [], { by_thread: [[1, 1, 9, 9]] });
  const of = tree(quick, STEP);
  const asked = { open: new Set<number>(), query: "", descending: true, phase: "all", workers: WORKERS } as const;
  const names = (sort: "worker 1" | "worker 2" | "most") =>
    rowsOf(of, { outlived: [], itself: { total_ns: 0, calls: 0 }, mean_ticks: [] }, { ...asked, sort, descending: sort !== "worker 2" })
      .filter((row) => row.kind === "section")
      .map((row) => of.items[row.index]!.name);
  expect(names("worker 1")).toEqual(["step", "quick"]);
  expect(names("worker 2")).toEqual(["quick", "step"]);
  expect(names("most")).toEqual(["step", "quick"]);
});
