import colors from "../../src/ticktree/outputs/html/palette.json";

/** The colours of categories: of outputs/html/palette.json, as in every other picture; tests/palette.test.ts checks them. */
const NAMED: Record<string, Shades> = colors.named;
const QUIET: Record<string, Shades> = colors.quiet;

export type Theme = "light" | "dark";
type Shades = Record<Theme, string>;

/** The colour of a category, or of no category. */
export function colorOf(category: string | null, theme: Theme): string {
  const name = category ?? "other";
  const shades = ownShades(QUIET, name) ?? ownShades(NAMED, name) ?? Object.values(NAMED)[hashed(name) % Object.keys(NAMED).length]!;
  return shades[theme];
}

/** Without the properties that every object inherits: a category may be called `constructor`. */
function ownShades(shades: Record<string, Shades>, name: string): Shades | undefined {
  return Object.hasOwn(shades, name) ? shades[name] : undefined;
}

// How far the shades of a colour are from it, towards black or white.
const SHADES = [0, -0.12, 0.14, -0.06, 0.07];

/** A shade of a category's colour by a section's name, which distinguishes neighbours of one category. */
export function shaded(color: string, name: string): string {
  const by = SHADES[hashed(name) % SHADES.length]!;
  const parts = [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16));
  const moved = parts.map((part) => Math.round(part + (by < 0 ? part * by : (255 - part) * by)));
  return `#${moved.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Sampled boxes are hatched, in no category's colour: they are inferred. */
export const SAMPLED: Shades = { light: "#e6e1d6", dark: "#34383f" };

const DARK_INK = "#14161a";
const LIGHT_INK = "#ffffff";

/** Ink that can be read on a colour. */
export function inkOn(color: string): string {
  const parts = [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16) / 255);
  const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  // Where both inks have the same contrast, the dark one's own luminance being 0.008.
  return (luminance + 0.05) ** 2 > 1.05 * 0.058 ? DARK_INK : LIGHT_INK;
}

/** As outputs/charts.py hashes. */
function hashed(text: string): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619) >>> 0;
  return hash;
}
