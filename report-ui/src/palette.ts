/**
 * A category's colour is always the same, in whichever report it stands. Found by search: of hues that were given, the
 * shades that are furthest apart to readers with all cones and to those who lack any one kind; tests/palette.test.ts
 * looks at it with their eyes.
 */
export const NAMED = [
  "training",
  "policy",
  "environment",
  "preprocessing",
  "data",
  "rendering",
  "model",
  "robot",
  "network",
  "logging",
] as const;
const LIGHT = [
  "#385ac0", "#dba131", "#06986e", "#d26122", "#5ebaf8", "#c276b9", "#5c248e", "#6d5614", "#f3cf31", "#334f5f",
];
const DARK = [
  "#4b80c4", "#e9ac26", "#4fae78", "#d15b1c", "#62b7fd", "#c88ec1", "#5558ba", "#755010", "#e8d98b", "#7b858f",
];
const WAITING = { light: "#c7d2de", dark: "#4c5056" };
const NONE = { light: "#b1aa9e", dark: "#6e685f" };

export type Theme = "light" | "dark";

/** The colour of a category, and of what is in none. */
export function colorOf(category: string | null, of: Theme): string {
  if (category === "waiting") return WAITING[of];
  if (category === null || category === "other") return NONE[of];
  const colors = of === "dark" ? DARK : LIGHT;
  const place = (NAMED as readonly string[]).indexOf(category);
  return colors[place >= 0 ? place : hashed(category) % colors.length]!;
}

const DARK_INK = "#14161a";
const LIGHT_INK = "#ffffff";

/** Ink that can be read on a colour. */
export function inkOn(color: string): string {
  const parts = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255);
  const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  // Where both inks have the same contrast, the dark one's own luminance being 0.008.
  return (luminance + 0.05) ** 2 > 1.05 * 0.058 ? DARK_INK : LIGHT_INK;
}

function hashed(text: string): number {
  let hash = 2166136261;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619) >>> 0;
  return hash;
}
