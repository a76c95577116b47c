import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import colors from "../../src/ticktree/outputs/html/palette.json";
import { colorOf, inkOn, SAMPLED, type Theme } from "../src/palette";

type Rgb = [number, number, number];

// As far apart as can be had for twelve; 0.02 is about what can be told side by side.
const LEAST = 0.08;

// Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation of Color Vision Deficiency (2009), the
// whole loss of one kind of cone.
const SIGHT: Record<string, number[][]> = {
  "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

function linear(color: string): Rgb {
  return [1, 3, 5].map((start) => {
    const part = parseInt(color.slice(start, start + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
}

function seen(color: Rgb, sight: number[][]): Rgb {
  return sight.map((row) => Math.min(1, Math.max(0, row.reduce((sum, part, i) => sum + part * color[i]!, 0)))) as Rgb;
}

/** Ottosson's Oklab, in which distances are about as large as they look. */
function oklab([r, g, b]: Rgb): Rgb {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function contrast(left: string, right: string): number {
  const [low, high] = [left, right]
    .map((color) => linear(color))
    .map(([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b)
    .sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const CATEGORIES = [...Object.keys(colors.named), "waiting", null];

describe.each(["light", "dark"] as Theme[])("on %s paper", (theme) => {
  test.each(Object.keys(SIGHT))("no two categories look alike to a reader with %s", (sight) => {
    const places = CATEGORIES.map((name) => oklab(seen(linear(colorOf(name, theme)), SIGHT[sight]!)));
    const pairs = places.flatMap((left, at) =>
      places.slice(at + 1).map((right, more) => ({
        pair: [CATEGORIES[at], CATEGORIES[at + 1 + more]],
        distance: Math.hypot(...left.map((part, axis) => part - right[axis]!)),
      })),
    );
    expect(pairs.filter(({ distance }) => distance < LEAST)).toEqual([]);
  });

  test("a name on its colour can be read", () => {
    for (const name of CATEGORIES) {
      const color = colorOf(name, theme);
      expect(contrast(color, inkOn(color))).toBeGreaterThan(4.4);
    }
  });
});

// tests/outputs/test_charts.py holds the charts to the same file.
const cases = JSON.parse(readFileSync(new URL("colors.json", import.meta.url), "utf8")) as [string, Theme, string][];

test.each(cases)("%j is on %s paper what it is in charts", (category, theme, color) => {
  expect(colorOf(category, theme)).toBe(color);
});

describe.each(["light", "dark"] as const)("what was sampled, %s", (theme) => {
  test("has letters that can be read, on its colour and on its hatching", () => {
    const ink = inkOn(SAMPLED[theme]);
    const mixed = [1, 3, 5].map((start) => Math.round(0.28 * parseInt(ink.slice(start, start + 2), 16) + 0.72 * parseInt(SAMPLED[theme].slice(start, start + 2), 16)));
    const hatching = `#${mixed.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
    expect(contrast(ink, SAMPLED[theme])).toBeGreaterThan(4.5);
    expect(contrast(ink, hatching)).toBeGreaterThan(4.5);
  });
});
