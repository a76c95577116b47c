import { signal } from "@preact/signals";

/**
 * A category's colour is always the same, in whichever report it stands. Neighbours differ in lightness as well as in
 * hue, after the eight that Okabe and Ito chose for colour-blind readers, moved apart for pale and for dark paper.
 */
const FIXED: Record<string, number> = {
  training: 0,
  policy: 1,
  environment: 2,
  preprocessing: 3,
  data: 4,
  rendering: 5,
  model: 6,
  robot: 7,
  network: 8,
  logging: 9,
};
const LIGHT = [
  "#2f6fb0", "#e0a33a", "#3a9c7c", "#d2642f", "#7fbfe3", "#c983ad", "#6a5aa8", "#8a7442", "#c9bf45", "#9aa0a6",
];
const DARK = [
  "#4b8fd6", "#e3a83f", "#3fae8a", "#e0743f", "#8fcaea", "#d592bb", "#8c7bd0", "#a58d55", "#d3c94f", "#8a9097",
];
const WAITING = { light: "#c3c8d0", dark: "#4c535e" };
const NONE = { light: "#b4aea5", dark: "#6d6860" };

export type Theme = "light" | "dark";
export type Chosen = Theme | "auto";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
export const chosen = signal<Chosen>("auto");
export const theme = signal<Theme>(dark.matches ? "dark" : "light");

function settle(): void {
  theme.value = chosen.value === "auto" ? (dark.matches ? "dark" : "light") : chosen.value;
  document.documentElement.dataset["theme"] = theme.value;
}

dark.addEventListener("change", settle);
settle();

export function choose(next: Chosen): void {
  chosen.value = next;
  settle();
}

/** The colour of a category, and of what is in none. */
export function colorOf(category: string | null, of: Theme): string {
  if (category === "waiting") return WAITING[of];
  if (category === null || category === "other") return NONE[of];
  const colors = of === "dark" ? DARK : LIGHT;
  return colors[FIXED[category] ?? hashed(category) % colors.length]!;
}

/** Ink that can be read on a colour. */
export function inkOn(color: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255) as [number, number, number];
  const light = [red, green, blue].map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * light[0]! + 0.7152 * light[1]! + 0.0722 * light[2]!;
  return luminance > 0.22 ? "#14161a" : "#ffffff";
}

function hashed(text: string): number {
  let hash = 2166136261;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619) >>> 0;
  return hash;
}
