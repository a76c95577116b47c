import { expect, test } from "vitest";
import { boxAt, boxesOf, boxesOfTick } from "../src/icicle";
import { matching, openAtFirst, rowsOf } from "../src/rows";
import { treeOf } from "../src/tree";
import type { Sampled } from "../src/types";
import { node } from "./trees";

const FACTS = { outlived: [], itself: { total_ns: 0, calls: 0 }, mean_ticks: [] };

/** Two functions, one of which called another, in the self time of the section at a place. */
function calls(place: number): Sampled {
  return { place, base: 0, samples: 10, depth: [0, 1, 0], name: ["main", "crunch", "nap"], share: [0.75, 0.5, 0.25], text: ["a", "b", "c"] };
}

/** root (40 of its own) with the sections step (60 of its own, and 100 in act) and zoom (20). */
function run(...sampled: Sampled[]) {
  const act = node("act", 100, [], { path: "step/act" });
  const step = node("step", 60, [act]);
  const root = node("root", 40, [step, node("zoom", 20)], { path: "", count: 0 });
  return treeOf(root, { categories: ["data"], category_of: [-1, -1, 0, -1], loop_of: [0, 0, 1, 0], sampled });
}

function linesOf(tree: ReturnType<typeof run>, open: number[], query = "") {
  const options = { open: new Set(open), query, sort: "total", descending: true, phase: "all", workers: null } as const;
  return rowsOf(tree, FACTS, options).map((row) => `${"  ".repeat(row.depth)}${row.kind} ${tree.items[row.index]!.name} ${row.totalNs}`);
}

test("facts by a section's number in the file belong to that section, however many calls come before it", () => {
  const tree = run(calls(1), calls(3));
  expect(tree.sections.map((index) => tree.items[index]!.name)).toEqual(["root", "step", "act", "zoom"]);
  expect(tree.items.filter((item) => item.kind === "section").map((item) => item.category)).toEqual([null, null, "data", null]);
  expect(tree.items[tree.sections[2]!]!.base).toBe(tree.sections[1]);
  expect(tree.indexByPath.get("step")).toBe(tree.sections[1]);
});

test("calls are boxes below the self time of their section, as wide as their shares of it", () => {
  const tree = run(calls(1));
  const { size, start } = boxesOf(tree);
  const named = (name: string) => tree.items.findIndex((item) => item.name === name);
  expect(["step", "act", "[self]", "main", "crunch", "nap", "zoom"].map((name) => size[named(name)])).toEqual([160, 100, 60, 45, 30, 15, 20]);
  expect(start[named("[self]")]).toBe(100);
  expect(start[named("nap")]).toBe(145);
  expect(tree.items[boxAt(tree, boxesOf(tree), { start: 0, size: 220 }, 220, 110, 4)!]!.name).toBe("crunch");
});

test("calls of a section without children are directly below it, and in a mean tick they share its self time", () => {
  const tree = run(calls(2));
  const act = tree.sections[2]!;
  expect(tree.items[act + 1]!.kind).toBe("sampled");
  const tick = { path: "step", name: "", title: "", tick_ns: 16, by_name: null };
  const { size } = boxesOfTick(tree, { ...tick, places: [tree.sections[1]!, act], total_ns: [16, 8], self_ns: [8, 8] });
  expect([...size.slice(act, act + 4)]).toEqual([8, 6, 4, 2]);
});

test("self time opens, and its calls open in turn", () => {
  const tree = run(calls(1));
  const [step] = [tree.sections[1]!];
  const self = tree.items.findIndex((item) => item.kind === "self");
  expect(linesOf(tree, [step])).toEqual(["section step 160", "  section act 100", "  self [self] 60", "section zoom 20", "self root 40"]);
  expect(linesOf(tree, [step, self, self + 1]).slice(2, 6)).toEqual(["  self [self] 60", "    sampled main 45", "      sampled crunch 30", "    sampled nap 15"]);
});

test("a search finds functions, too", () => {
  const tree = run(calls(1));
  expect([...matching(tree, "crunch")].map((index) => tree.items[index]!.name).sort()).toEqual(["[self]", "crunch", "main", "root", "step"]);
  expect(linesOf(tree, [], "crunch")).toEqual(["section step 160", "  self [self] 60", "    sampled main 45", "      sampled crunch 30"]);
});

test("at first self time is closed, except in a run without sections", () => {
  const tree = run(calls(1));
  expect([...openAtFirst(tree, 36)]).toEqual([tree.sections[1]]);
  const bare = treeOf(node("root", 80, [], { path: "", count: 0 }), { categories: [], category_of: [-1], sampled: [calls(0)] });
  expect([...openAtFirst(bare, 36)].map((index) => bare.items[index]!.name)).toEqual(["main"]);
  expect(linesOf(bare, [1])).toEqual(["sampled main 60", "  sampled crunch 40", "sampled nap 20"]);
});
