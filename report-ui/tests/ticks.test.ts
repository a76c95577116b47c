import { expect, test } from "vitest";
import { type Area, callsIn, sumsOf } from "../src/timeline/area";
import { drag, gripAt } from "../src/timeline/grips";
import { type Model, modelOf } from "../src/timeline/model";
import { boundaries, density, misses } from "../src/timeline/stretch";
import { leading, tickAt, tickOf } from "../src/timeline/ticks";
import type { TimelineFacts } from "../src/types";

type Call = [startNs: number, durationNs: number, node: number];

const PATHS = ["loop", "loop/a", "loop/a/b", "loop/c"];

function factsOf(calls: number, ticks: TimelineFacts["ticks"] = []): TimelineFacts {
  return {
    calls,
    drawn: calls,
    overwritten: 0,
    from_ns: 0,
    to_ns: 1000,
    tracks: [{ process: "p", process_title: "p", title: "main", calls }],
    nodes: PATHS.map((path) => [path, path, 0]),
    planes: [1, 1, 1],
    ticks,
    late_planes: 0,
  };
}

function modelFrom(calls: Call[], ticks: TimelineFacts["ticks"] = [], lateNs: number[] = []): Model {
  const column = (field: 0 | 1 | 2) => calls.map((call) => call[field]);
  const columns = { startNs: Float64Array.from(column(0)), durationNs: Float64Array.from(column(1)), node: Uint32Array.from(column(2)) };
  return modelOf({ ...columns, lateNs: Float64Array.from(lateNs) }, factsOf(calls.length, ticks));
}

/** Ticks of 100 ns one after the other, each with a section of 60 ns that has another of 20 ns in it, and one of 30 ns. */
function loop(ticks: number): Call[] {
  return Array.from({ length: ticks }, (_, i): Call[] => [
    [100 * i, 100, 0],
    [100 * i, 60, 1],
    [100 * i + 10, 20, 2],
    [100 * i + 65, 30, 3],
  ]).flat();
}

const area = (fromNs: number, toNs: number): Area => ({ fromNs, toNs, track: 0, isOpen: false });
const sumOf = (model: Model, area_: Area) => Object.fromEntries(sumsOf(model, area_).sections.map(({ node, selfNs, calls }) => [PATHS[node]!, [selfNs, calls]]));

test("self times in an area are clipped at its ends, without children", () => {
  const model = modelFrom(loop(10));
  expect(sumOf(model, area(100, 300))).toEqual({ loop: [20, 2], "loop/a": [80, 2], "loop/a/b": [40, 2], "loop/c": [60, 2] });
  expect(sumOf(model, area(120, 170))).toEqual({ loop: [5, 1], "loop/a": [30, 1], "loop/a/b": [10, 1], "loop/c": [5, 1] });
  expect(sumsOf(model, area(100, 300)).sections.map(({ node }) => PATHS[node])).toEqual(["loop/a", "loop/c", "loop/a/b", "loop"]);
});

test("the sums of a thread that is always in sections equal the area", () => {
  const model = modelFrom(loop(50));
  let seed = 11;
  const dice = (below: number) => (seed = (seed * 16807) % 2147483647) % below;
  for (let round = 0; round < 500; round += 1) {
    const fromNs = dice(4900);
    const period = area(fromNs, fromNs + 1 + dice(4999 - fromNs));
    const { sections, outsideNs } = sumsOf(model, period);
    expect(sections.reduce((sum, { selfNs }) => sum + selfNs, 0)).toBe(period.toNs - period.fromNs);
    expect(outsideNs).toBe(0);
    expect(Math.min(...sections.map(({ selfNs }) => selfNs))).toBeGreaterThanOrEqual(0);
    expect(sections.reduce((sum, { calls }) => sum + calls, 0)).toBe(callsIn(model, period));
  }
});

test("time in which no call is open is outside all sections", () => {
  const model = modelFrom([[100, 50, 0], [200, 50, 0]]);
  expect(sumsOf(model, area(90, 260))).toEqual({ sections: [{ node: 0, selfNs: 100, calls: 2 }], outsideNs: 70 });
  expect(sumsOf(model, area(160, 190))).toEqual({ sections: [], outsideNs: 30 });
});

const TICKS: TimelineFacts["ticks"] = [[0, 0, 400, 10]];
const LATE = [0, 0, 0, 7, 0, 0, 0, 0, 9, 0];

test("a call that is a tick has its number and its lateness", () => {
  const model = modelFrom(loop(10), TICKS, LATE);
  const [ticks] = model.ticks;
  expect(tickOf(model, ticks!.calls[3]!)).toEqual({ number: 403, lateNs: 7 });
  expect(tickOf(model, ticks!.calls[4]!)).toEqual({ number: 404, lateNs: 0 });
  expect(tickOf(model, 15)).toBeNull();
  expect([...ticks!.missed.startNs]).toEqual([300, 800]);
  expect(tickOf(modelFrom(loop(10), [[0, 0, null, 10]], LATE), ticks!.calls[3]!)).toEqual({ number: null, lateNs: 7 });
});

test("ticks on several rows are ordered by start", () => {
  const model = modelFrom([[0, 100, 1], [10, 20, 0], [40, 20, 0], [120, 20, 0], [150, 100, 1], [160, 20, 0]], [[0, 0, 0, 4]], [0, 0, 0, 5]);
  expect([...model.ticks[0]!.startNs]).toEqual([10, 40, 120, 160]);
  expect([...model.ticks[0]!.missed.startNs]).toEqual([160]);
});

test("the marked starts are those of the first loop that has calls", () => {
  const model = modelFrom(loop(10), [[0, 3, 0, 10], [0, 0, 0, 10]], Array(20).fill(0));
  const facts = factsOf(40);
  expect(leading(model.ticks, facts, ["elsewhere", "loop", "loop/c"])).toBe(model.ticks[1]);
  expect(leading(model.ticks, facts, ["elsewhere"])).toBeNull();
});

test("the axis finds a missed tick nearby, else the tick there", () => {
  const model = modelFrom(loop(10), TICKS, LATE);
  const [lead] = model.ticks;
  expect(tickAt(model, lead!, 350, 5)).toBe(lead!.calls[3]);
  expect(tickAt(model, lead!, 297, 5)).toBe(lead!.calls[3]);
  expect(tickAt(model, lead!, 250, 5)).toBe(lead!.calls[2]);
  expect(tickAt(model, null, 250, 5)).toBe(-1);
  expect(tickAt(model, lead!, 2000, 5)).toBe(-1);
});

test("starts are drawn if they are far enough apart, missed ticks always", () => {
  const model = modelFrom(loop(10), TICKS, LATE);
  const [ticks] = model.ticks;
  expect(boundaries(ticks!, { startNs: 150, nsPerPx: 10, widthPx: 40 })).toEqual([5, 15, 25, 35]);
  expect(boundaries(ticks!, { startNs: 0, nsPerPx: 20, widthPx: 50 })).toEqual([]);
  expect(misses(model, ticks!.missed, { startNs: 350, nsPerPx: 10, widthPx: 100 })).toEqual([[0, 5], [45, 55]]);
  expect(misses(model, ticks!.missed, { startNs: 0, nsPerPx: 1000, widthPx: 1 })).toEqual([[0.3, 0.4], [0.8, 0.9]]);
  expect(misses(model, ticks!.missed, { startNs: 450, nsPerPx: 10, widthPx: 20 })).toEqual([]);
});

test("the minimap shows how many calls were open, from the sums alone", () => {
  const model = modelFrom(loop(10));
  expect([...density(model, 0, 0, 500, 2)]).toEqual([2.1, 2.1]);
  expect([...density(model, 0, 0, 50, 2)]).toEqual([2.4, 1.8]);
  expect([...density(model, 1, 0, 50, 2)]).toEqual([0, 0]);
});

test.each([
  [4, "outside"],
  [8, "left"],
  [14, "left"],
  [30, "inside"],
  [59, "right"],
  [63, "right"],
  [70, "outside"],
] as const)("at pixel %d of a minimap, %s of a frame from 10 to 60 is held", (px, grip) => {
  expect(gripAt(px, 10, 60, 5)).toBe(grip);
});

test("the edges of a frame do not pass each other, and its inside keeps its length", () => {
  expect(drag("left", [100, 200], 500, 10)).toEqual([190, 200]);
  expect(drag("right", [100, 200], -500, 10)).toEqual([100, 110]);
  expect(drag("inside", [100, 200], 50, 10)).toEqual([150, 250]);
});
