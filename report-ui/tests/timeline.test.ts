import { expect, test } from "vitest";
import { moment, moments } from "../src/timeline/axis";
import { columnsOf, unpacked } from "../src/timeline/columns";
import { layoutOf, rowAt } from "../src/timeline/layout";
import { callAt, countsOf, firstCounted, firstFrom, type Model, modelOf } from "../src/timeline/model";
import { type Inks, packed, paintRow, rgbOf } from "../src/timeline/paint";
import type { TimelineFacts } from "../src/types";
import { gzipSync } from "node:zlib";

type Call = [startNs: number, durationNs: number, node: number];

function factsOf(tracks: Call[][], planes: [number, number, number] = [6, 6, 2]): TimelineFacts {
  const calls = tracks.flat();
  return {
    calls: calls.length,
    drawn: calls.length,
    overwritten: 0,
    from_ns: Math.min(...calls.map(([start]) => start)),
    to_ns: Math.max(...calls.map(([start, duration]) => start + duration)),
    tracks: tracks.map((track, i) => ({ process: `p${i}`, process_title: `p${i}`, title: "main", calls: track.length })),
    nodes: [["a", "a", 0], ["a/b", "b", 0], ["a/b/c", "c", 0]],
    planes,
    ticks: [],
    late_planes: 0,
  };
}

/** As outputs/html/events.py writes them. */
function bytesOf(tracks: Call[][], planes: [number, number, number]): Uint8Array {
  const gaps = tracks.flatMap((track) => track.map(([start], i) => start - (i ? track[i - 1]![0] : 0)));
  const columns = [gaps, tracks.flat().map((call) => call[1]), tracks.flat().map((call) => call[2])];
  const bytes = columns.flatMap((column, which) =>
    Array.from({ length: planes[which]! }, (_, plane) => column.map((value) => Math.floor(value / 256 ** plane) % 256)).flat(),
  );
  return Uint8Array.from(bytes);
}

async function modelFrom(tracks: Call[][]): Promise<Model> {
  const facts = factsOf(tracks);
  return modelOf(await columnsOf(bytesOf(tracks, facts.planes), facts), facts);
}

// More than an hour into the run, a call of an hour: far past what 32 bits can say.
const TRACKS: Call[][] = [
  [[5_000_000_000_000, 3_600_000_000_000, 0], [5_000_000_000_010, 40, 1], [5_000_000_000_020, 10, 2], [5_000_000_000_060, 5, 1]],
  [[7, 3, 1], [12, 0, 1], [12, 8, 2]],
];

test("columns are read as written, however large their numbers", async () => {
  const facts = factsOf(TRACKS);
  const bytes = await unpacked(gzipSync(bytesOf(TRACKS, facts.planes)).toString("base64"));
  const { startNs, durationNs, node } = await columnsOf(bytes, facts);
  expect([...startNs]).toEqual(TRACKS.flat().map((call) => call[0]));
  expect([...durationNs]).toEqual(TRACKS.flat().map((call) => call[1]));
  expect([...node]).toEqual(TRACKS.flat().map((call) => call[2]));
});

test("calls are one row below their parents, track by track", async () => {
  const model = await modelFrom(TRACKS);
  expect(model.rows).toEqual([
    { track: 0, depth: 0, from: 0, to: 1 },
    { track: 0, depth: 1, from: 1, to: 3 },
    { track: 0, depth: 2, from: 3, to: 4 },
    { track: 1, depth: 0, from: 4, to: 7 },
  ]);
  expect([...model.startNs.slice(1, 4)]).toEqual([5_000_000_000_010, 5_000_000_000_060, 5_000_000_000_020]);
  expect(model.sumNs[7]).toBe(TRACKS.flat().reduce((sum, call) => sum + call[1], 0));
});

/** A row of calls that follow each other, drawn by lot. */
function crowd(count: number): Call[] {
  let seed = 7;
  const dice = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  let now = 0;
  return Array.from({ length: count }, () => {
    now += Math.floor(dice() ** 3 * 400);
    const took = Math.floor(dice() ** 4 * 900);
    now += took;
    return [now - took, took, Math.floor(dice() * 3)] as Call;
  });
}

test("the first call from a moment on is the same as by linear search", async () => {
  const model = await modelFrom([crowd(500)]);
  const [row] = model.rows;
  for (let ns = -10; ns < 90_000; ns += 97) {
    const plain = model.startNs.subarray(0, row!.to).findIndex((start) => start >= ns);
    expect(firstFrom(model, 0, row!.to, ns)).toBe(plain < 0 ? row!.to : plain);
  }
});

const INKS: Inks = {
  rgb: Uint8Array.from([200, 0, 0, 0, 200, 0, 0, 0, 200]),
  pixel: Uint32Array.from([packed(200, 0, 0), packed(0, 200, 0), packed(0, 0, 200)]),
  paper: [0, 0, 0],
};

function drawn(model: Model, startNs: number, nsPerPx: number, widthPx: number, counts: Uint32Array | null = null): Uint32Array {
  const line = new Uint32Array(widthPx).fill(packed(0, 0, 0));
  paintRow(line, model, model.rows[0]!, INKS, { startNs, nsPerPx, widthPx, counts }, null);
  return line;
}

function strength(pixel: number): number {
  return ((pixel & 255) + ((pixel >> 8) & 255) + ((pixel >> 16) & 255)) / 200;
}

test.each([1, 40, 1000, 5000])("at %d ns a pixel, a row is as full as the time is of calls", async (nsPerPx) => {
  const calls = crowd(2000);
  const model = await modelFrom([calls]);
  const end = calls[calls.length - 1]![0];
  const widthPx = Math.ceil(end / nsPerPx);
  const line = drawn(model, 0, nsPerPx, widthPx);
  const shown = line.reduce((sum, pixel) => sum + strength(pixel), 0) / widthPx;
  const full = calls.reduce((sum, call) => sum + call[1], 0) / end;
  // What is too short to be seen is drawn stronger than it is, wide calls have a hairline less.
  expect(shown).toBeGreaterThan(0.75 * full);
  expect(shown).toBeLessThan(nsPerPx > 500 ? 1.1 * full : 1.6 * full);
});

test("of many calls in a pixel, a match of the search is visible", async () => {
  const calls = Array.from({ length: 1000 }, (_, at): Call => [at * 10, 8, at === 503 ? 2 : 0]);
  const model = await modelFrom([calls]);
  const counts = countsOf(model, Uint8Array.from([0, 0, 1]));
  const plain = drawn(model, 0, 100, 100);
  const found = drawn(model, 0, 100, 100, counts);
  const blue = (line: Uint32Array) => [...line].flatMap((pixel, at) => ((pixel >> 16) & 255 ? [at] : []));
  expect(blue(plain)).toEqual([]);
  expect(blue(found)).toEqual([50]);
  expect(firstCounted(counts, 0, 1000)).toBe(503);
});

test("the steps to draw a row do not depend on its number of calls", async () => {
  const model = await modelFrom([Array.from({ length: 100_000 }, (_, at): Call => [at * 10, 8, 0])]);
  let reads = 0;
  const watched = new Proxy(model.startNs, {
    get: (target, key) => {
      if (typeof key === "string" && /^\d/.test(key)) reads += 1;
      return Reflect.get(target, key) as unknown;
    },
  });
  drawn({ ...model, startNs: watched }, 0, 10_000, 100);
  expect(reads).toBeLessThan(100 * 60);
});

test("a click finds the call under it, or a very short one nearby", async () => {
  const model = await modelFrom([[[100, 50, 0], [200, 0, 1], [300, 10, 2]]]);
  const row = model.rows[0]!;
  expect(callAt(model, row, 120, 0)).toBe(0);
  expect(callAt(model, row, 175, 10)).toBe(-1);
  expect(callAt(model, row, 195, 10)).toBe(1);
  expect(callAt(model, row, 205, 10)).toBe(1);
  expect(callAt(model, row, 900, 10)).toBe(-1);
});

test("tracks are below each other, and a height is in one row or in none", () => {
  const { tracks } = factsOf(TRACKS);
  const rows = [0, 0, 1].map((track, depth) => ({ track, depth, from: 0, to: 0 }));
  const layout = layoutOf(rows, tracks);
  expect(layout.lanes.map((lane) => lane.title)).toEqual(["p0 · main", "p1 · main"]);
  expect(rowAt(layout, layout.rowPx[1]! + 3)).toBe(1);
  expect(rowAt(layout, layout.lanes[1]!.topPx + 2)).toBe(-1);
});

test.each([
  [58_005_000_000, 5_000_000, "58.005 s"],
  [0, 5_000_000, "0 s"],
  [12_500, 500, "12.5 µs"],
  [20_000_000_000, 20_000_000_000, "20 s"],
  [350_000, 50_000, "350 µs"],
])("%d ns, in steps of %d, is %s", (ns, stepNs, text) => {
  expect(moment(ns, stepNs)).toBe(text);
});

test("the moments of an axis are round and far enough apart", () => {
  expect(moments(0, 1e9, 150_000_000)).toEqual({ stepNs: 200_000_000, at: [0, 2e8, 4e8, 6e8, 8e8, 1e9] });
  expect(moments(13, 61, 20).at).toEqual([20, 40, 60]);
});

test("colours are parsed", () => {
  expect(rgbOf("#385ac0")).toEqual([0x38, 0x5a, 0xc0]);
});
