import { signal } from "@preact/signals";
import type { Theme } from "./palette";

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
