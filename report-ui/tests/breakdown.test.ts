import { expect, test } from "vitest";
import { partsOf } from "../src/breakdown";

test("parts stand in the tree's order, the longest of siblings first, each beside what is usual", () => {
  const breakdown = { "control/send": 47, "control/send/wait": 46, "control/observe": 12, "control/observe/resize": 11 };
  const parts = partsOf("control", breakdown, { "control/send": 3, "control/observe": 7 });
  expect(parts.map(({ path, depth, tookNs, usualNs }) => [path, depth, tookNs, usualNs])).toEqual([
    ["control/send", 0, 47, 3],
    ["control/send/wait", 1, 46, 0],
    ["control/observe", 0, 12, 7],
    ["control/observe/resize", 1, 11, 0],
  ]);
});

test("a section whose parent the tick does not name hangs under the nearest one above", () => {
  const parts = partsOf("run/train", { "run/train/a": 5, "run/train/a/b/c": 4 }, {});
  expect(parts.map(({ path, depth }) => [path, depth])).toEqual([
    ["run/train/a", 0],
    ["run/train/a/b/c", 1],
  ]);
});
