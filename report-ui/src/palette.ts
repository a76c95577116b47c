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
  "#238ade", "#623f0a", "#40724d", "#eb7e31", "#54afee", "#a7479c", "#4a2d98", "#f3ca8e", "#c1ba0a", "#7c838f",
];
const DARK = [
  "#4a69d2", "#6b5709", "#42b07b", "#d8701b", "#458ca4", "#9c3d94", "#aaace5", "#f5d29b", "#c7c525", "#c7daef",
];
const WAITING = { light: "#c7d2de", dark: "#4d5055" };
const NONE = { light: "#acaba5", dark: "#756e62" };

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
