import { signal } from "@preact/signals";
import type { Theme } from "./palette";

export type Chosen = Theme | "auto";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
export const themeChoice = signal<Chosen>("auto");
export const theme = signal<Theme>(dark.matches ? "dark" : "light");

function settle(only?: Theme): void {
  theme.value = only ?? (themeChoice.value === "auto" ? (dark.matches ? "dark" : "light") : themeChoice.value);
  document.documentElement.dataset["theme"] = theme.value;
}

dark.addEventListener("change", () => settle());
// Paper is white, also for canvases.
addEventListener("beforeprint", () => settle("light"));
addEventListener("afterprint", () => settle());
settle();

export function choose(next: Chosen): void {
  themeChoice.value = next;
  settle();
}

/** A colour of the page's current theme, for canvases, which style sheets do not affect. */
export function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
