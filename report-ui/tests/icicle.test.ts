import { expect, test } from "vitest";
import { boxAt, boxesOf, eachBox } from "../src/icicle";
import { node, tree } from "./trees";

const RUN = () =>
  tree(node("camera", 30, [], { concurrent_ns: 30 }), node("control", 10, [node("observe", 40), node("send", 20)]));

test("a box is as wide as the self times in it, and its children are inside it, side by side", () => {
  const { start, size } = boxesOf(RUN());
  expect([...size]).toEqual([100, 30, 70, 40, 20]);
  expect([...start]).toEqual([0, 0, 30, 30, 70]);
});

test("boxes that are too thin to see are skipped with their descendants", () => {
  const run = RUN();
  const indices: number[] = [];
  eachBox(run, boxesOf(run), { start: 0, size: 100 }, 100, 35, (index) => indices.push(index));
  expect(indices).toEqual([0, 2, 3]);
});

test("when zoomed in, boxes to the left and to the right are not drawn", () => {
  const run = RUN();
  const calls: [number, number, number][] = [];
  eachBox(run, boxesOf(run), { start: 71, size: 18 }, 180, 1, (...box) => calls.push(box));
  expect(calls).toEqual([
    [0, -710, 1000],
    [2, -410, 700],
    [4, -10, 200],
  ]);
});

test("a point is in the box of its row, or in none", () => {
  const run = RUN();
  const boxes = boxesOf(run);
  const all = { start: 0, size: 100 };
  expect(boxAt(run, boxes, all, 1000, 750, 2)).toBe(4);
  expect(boxAt(run, boxes, all, 1000, 750, 1)).toBe(2);
  expect(boxAt(run, boxes, all, 1000, 950, 2)).toBeNull();
  expect(boxAt(run, boxes, all, 1000, 100, 5)).toBeNull();
});
