import { expect, test } from "vitest";
import { partsOf } from "../src/breakdown";

const BREAKDOWN = { "control/send": 47, "control/send/wait": 46, "control/observe": 12, "control/observe/resize": 9 };
const USUAL = { "control/send": 3, "control/observe": 7, "control/observe/resize": 5 };

test("parts are in tree order, the longest of siblings first, self time last, each with its usual time", () => {
  const parts = partsOf("control", { took: 70, usual: 15, breakdown: BREAKDOWN }, USUAL);
  expect(parts.map(({ path, isSelf, depth, tookNs, usualNs }) => [isSelf ? `${path} [self]` : path, depth, tookNs, usualNs])).toEqual([
    ["control/send", 0, 47, 3],
    ["control/send/wait", 1, 46, 0],
    ["control/send [self]", 1, 1, 3],
    ["control/observe", 0, 12, 7],
    ["control/observe/resize", 1, 9, 5],
    ["control/observe [self]", 1, 3, 2],
    ["control [self]", 0, 11, 5],
  ]);
});

test("only the part that explains a long tick is marked, not its ancestors", () => {
  const parts = partsOf("control", { took: 70, usual: 15, breakdown: BREAKDOWN }, USUAL);
  expect(parts.filter((part) => part.isCulprit).map(({ path, isSelf }) => [path, isSelf])).toEqual([
    ["control/send/wait", false],
    ["control", true],
  ]);
});

test("a section whose parent is not in the tick is below its nearest ancestor", () => {
  const breakdown = { "run/train/a": 5, "run/train/a/b/c": 4 };
  const parts = partsOf("run/train", { took: 5, usual: 5, breakdown }, {});
  expect(parts.filter((part) => !part.isSelf).map(({ path, depth }) => [path, depth])).toEqual([
    ["run/train/a", 0],
    ["run/train/a/b/c", 1],
  ]);
});
