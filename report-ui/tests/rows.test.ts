import { expect, test } from "vitest";
import { type RowOptions, matching, openAtFirst, openTo, type Row, rowsOf } from "../src/rows";
import { childrenOf, lineage, shownPath, type Tree, treeOf } from "../src/tree";
import type { MeanTick } from "../src/types";
import { node, tree } from "./trees";

const FACTS = { outlived: [] as number[], itself: { total_ns: 0, calls: 0 }, mean_ticks: [] as MeanTick[] };

function options(tree_: Tree, more: Partial<RowOptions> = {}): RowOptions {
  const open = new Set(tree_.items.map((item) => item.index));
  return { open, query: "", sort: "total", descending: true, phase: "steady", workers: null, ...more };
}

function linesOf(tree_: Tree, rows: Row[]): string[] {
  return rows.map((row) => `${" ".repeat(row.depth)}${row.kind === "section" ? tree_.items[row.index]!.name : row.kind}`);
}

const TRAIN = () => tree(node("train", 1, [node("sample", 5), node("update", 2, [node("backward", 7)])]));

test("items are numbered from the top down, and each has the end of its descendants", () => {
  const { items: places } = TRAIN();
  expect(places.map(({ name, depth, end }) => [name, depth, end])).toEqual([
    ["root", 0, 5],
    ["train", 1, 5],
    ["sample", 2, 3],
    ["update", 2, 5],
    ["backward", 3, 5],
  ]);
});

test("children and lineage are those of the file", () => {
  const train = TRAIN();
  expect(childrenOf(train, 1)).toEqual([2, 3]);
  expect(lineage(train, 4)).toEqual([0, 1, 3, 4]);
});

test("a tree as deep as a program may recurse is no problem", () => {
  let deep = node("leaf", 1);
  for (let depth = 0; depth < 20_000; depth += 1) deep = node("f", 0, [deep]);
  const deepTree = treeOf(node("root", 0, [deep], { path: "" }), { categories: [], category_of: [] });
  expect(deepTree.deepest).toBe(20_001);
  expect(rowsOf(deepTree, FACTS, options(deepTree)).length).toBe(40_001);
});

const ACT = "self._act(action) | Env._act : drive.py @ L35";
const FOCUSED = () => {
  const act = node(ACT, 3, [], { path: `Env.step : drive.py @ L31/${ACT}` });
  const step = node("Env.step : drive.py @ L31", 1, [act]);
  const short = { 1: "Env.step", 2: "Env._act @ L9" };
  return treeOf(node("root", 0, [step], { path: "" }), { categories: [], category_of: [], short });
};

test("a call under focus has a short and a full name, and a search finds both", () => {
  const focused = FOCUSED();
  expect(linesOf(focused, rowsOf(focused, FACTS, options(focused)))).toEqual(["Env.step", " Env._act @ L9", " self"]);
  expect(focused.items[2]!.fullName).toBe(ACT);
  expect(matching(focused, "_act(action)")).toEqual(new Set([0, 1, 2]));
  expect(matching(focused, "@ l9")).toEqual(new Set([0, 1, 2]));
});

test("a path is shown by short names if there are any, and from a given loop on", () => {
  const focused = FOCUSED();
  const { path } = focused.items[2]!.node;
  expect(shownPath(focused, path)).toBe("Env.step/Env._act @ L9");
  expect(shownPath(focused, path, focused.items[1]!.node.path)).toBe("Env._act @ L9");
  const train = TRAIN();
  expect(shownPath(train, "train/update/backward")).toBe("train/update/backward");
  expect(shownPath(train, "train/update/backward", "train")).toBe("update/backward");
});

test("the longest sibling is first, and a section's self time last", () => {
  const train = TRAIN();
  expect(linesOf(train, rowsOf(train, FACTS, options(train)))).toEqual([
    "train",
    " update",
    "  backward",
    "  self",
    " sample",
    " self",
  ]);
});

test("rows can be in ascending order, and by name", () => {
  const train = TRAIN();
  const up = rowsOf(train, FACTS, options(train, { descending: false }));
  expect(linesOf(train, up).slice(0, 3)).toEqual(["train", " sample", " update"]);
  const byName = rowsOf(train, FACTS, options(train, { sort: "name", descending: false }));
  expect(linesOf(train, byName).slice(0, 3)).toEqual(["train", " sample", " update"]);
});

test("shares and self time of a section sum to it", () => {
  const train = TRAIN();
  const rows = rowsOf(train, FACTS, options(train)).filter((row) => [" update", " sample", " self"].includes(linesOf(train, [row])[0]!));
  expect(rows.reduce((sum, row) => sum + row.share!, 0)).toBeCloseTo(1);
  expect(rows.reduce((sum, row) => sum + row.totalNs, 0)).toBe(15);
});

test("a share is of the ticks of the loop that a section is in, and of the phase", () => {
  const stats = { ...node("", 6), count: 2, sum_ns: 6 };
  const warmup = { ...node("", 4), count: 1, sum_ns: 4 };
  const step = { ...node("step", 10), steady: { ...stats, sum_ns: 3 }, warmup: { ...warmup, sum_ns: 2 } };
  const loop = { ...node("loop", 0, [step]), total_ns: 10, steady: stats, warmup };
  const loopTree = tree(loop, node("rest", 10));
  loopTree.items[2]!.base = 1;
  const rows = rowsOf(loopTree, FACTS, options(loopTree));
  expect(linesOf(loopTree, rows)).toEqual(["rest", "loop", " step", " self"]);
  expect(rows.map((row) => row.totalNs)).toEqual([10, 6, 3, 3]);
  expect(rows.map((row) => row.share)).toEqual([0.5, 0.5, 0.5, 0.5]);
  const first = rowsOf(loopTree, FACTS, options(loopTree, { phase: "warmup" }));
  expect(first.map((row) => row.totalNs)).toEqual([4, 2, 2, 0]);
});

test("device time longer than the call is no part of it", () => {
  const kernels = { ...node("kernels", 30), clock: "device", concurrent_ns: 30 };
  const copies = { ...node("copies", 5), clock: "device", concurrent_ns: 5 };
  const update = { ...node("update", 10, [kernels, copies]), total_ns: 10 };
  const steps = tree(update);
  const shares = rowsOf(steps, FACTS, options(steps)).map((row) => row.share);
  expect(shares.slice(1, 3)).toEqual([null, 0.5]);
});

test("folded rows are not shown", () => {
  const train = TRAIN();
  expect(linesOf(train, rowsOf(train, FACTS, options(train, { open: new Set([1]) })))).toEqual([
    "train",
    " update",
    " sample",
    " self",
  ]);
});

test("a search shows matches and their ancestors, folded or not", () => {
  const train = TRAIN();
  const rows = rowsOf(train, FACTS, options(train, { open: new Set(), query: "BACKW" }));
  expect(linesOf(train, rows)).toEqual(["train", " update", "  backward"]);
  expect(rowsOf(train, FACTS, options(train, { query: "nothing like it" }))).toEqual([]);
});

test("a section that continued after its parent's end has no share of it", () => {
  const startTree = tree(node("start", 1, [node("worker", 50, [], { concurrent_ns: 50 }), node("join", 1)]));
  const facts = { ...FACTS, outlived: [1] };
  const shares = rowsOf(startTree, facts, options(startTree)).map((row) => row.share);
  expect(shares).toEqual([1, null, 0.5, 0.5]);
});

test("ticktree's cost is subtracted from self times and shown last", () => {
  const trainTree = tree(node("train", 10, [node("sample", 5)], { recorder_ns: 4 }));
  const rows = rowsOf(trainTree, { outlived: [], itself: { total_ns: 4, calls: 2 }, mean_ticks: [] }, options(trainTree, { phase: "all" }));
  expect(rows.map((row) => [row.kind, row.totalNs])).toEqual([
    ["section", 15],
    ["section", 5],
    ["self", 6],
    ["itself", 4],
  ]);
  expect(rows[3]!.meanNs).toBe(2);
});

test("a node without phases has all its calls in the steady one and none in the warm-up", () => {
  const setupTree = tree(node("setup", 5));
  expect(rowsOf(setupTree, FACTS, options(setupTree))[0]!.calls).toBe(1);
  const warmup = rowsOf(setupTree, FACTS, options(setupTree, { phase: "warmup" }))[0]!;
  expect([warmup.calls, warmup.meanNs, warmup.stats]).toEqual([0, null, null]);
});

test("the longest nodes are opened at first, and no more than fit", () => {
  const mixedTree = tree(node("long", 0, [node("a", 90), node("b", 5)]), node("short", 0, [node("c", 1), node("d", 1)]));
  expect(openAtFirst(mixedTree, 5)).toEqual(new Set([1]));
  expect(openAtFirst(mixedTree, 50)).toEqual(new Set([1, 4]));
});

test("a recursion is opened at first to its second level, and other nodes as well", () => {
  let search = node("search", 1, [node("expand", 1)]);
  for (let level = 0; level < 100; level += 1) search = node("search", 1, [node("expand", 1), search]);
  const searchTree = tree(search, node("other", 0, [node("a", 1), node("b", 1)]));
  const rows = rowsOf(searchTree, FACTS, options(searchTree, { open: openAtFirst(searchTree, 50) }));
  expect(linesOf(searchTree, rows).slice(0, 6)).toEqual(["search", " search", "  search", "  expand", "  self", " expand"]);
  expect(rows[2]!.isOpen).toBe(false);
  expect(linesOf(searchTree, rows)).toContain(" a");
});

test("a readable path has unescaped names", () => {
  const apiTree = tree(node("api/step", 1, [node("a/b", 1)]));
  apiTree.items.forEach((item, i) => apiTree.indexByPath.set(["", "api\\/step", "api\\/step/a\\/b"][i]!, item.index));
  expect(shownPath(apiTree, "api\\/step/a\\/b")).toBe("api/step/a/b");
  expect(shownPath(apiTree, "api\\/step/a\\/b", "api\\/step")).toBe("a/b");
});

test("showing a node opens its ancestors, not the node itself", () => {
  const train = TRAIN();
  expect(openTo(train, new Set(), 4)).toEqual(new Set([1, 3]));
});

test("in the default order, loops come first, in their order", () => {
  const robot = tree(node("camera", 900), node("setup", 950), node("control", 100));
  const [control, camera] = ["control", "camera"].map((name) => robot.items.findIndex((item) => item.name === name));
  const mean_ticks = [control, camera].map((index) => ({ places: [index] }) as unknown as MeanTick);
  const facts = { ...FACTS, mean_ticks };
  expect(linesOf(robot, rowsOf(robot, facts, options(robot)))).toEqual(["control", "camera", "setup"]);
  const up = linesOf(robot, rowsOf(robot, facts, options(robot, { descending: false })));
  expect(up).toEqual(["control", "camera", "setup"]);
});
