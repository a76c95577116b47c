import type { Theme } from "../palette";
import { logOf } from "./scale";
import type { Verdict } from "./types";

type Rgb = readonly [number, number, number];

// Blue and orange are distinguishable with every type of colour blindness. Smaller changes are paler.
const SHADES: Record<Theme, { slower: [Rgb, Rgb]; faster: [Rgb, Rgb]; same: string; unknown: string; only: string }> = {
  light: {
    slower: [[246, 217, 193], [190, 66, 10]],
    faster: [[201, 221, 243], [21, 88, 166]],
    same: "#dedad2",
    unknown: "#f3f1ed",
    only: "#cfc3e6",
  },
  dark: {
    slower: [[94, 62, 38], [240, 134, 66]],
    faster: [[38, 62, 92], [104, 170, 240]],
    same: "#3b3f44",
    unknown: "#1e2125",
    only: "#53467a",
  },
};
const DOUBLE = Math.log(2);

/** The colour of a verdict: stronger for larger changes, strongest for twice or half the time. */
export function colorOfChange(verdict: Verdict, percent: number | null, theme: Theme): string {
  const shades = SHADES[theme];
  if (verdict === "slower" || verdict === "faster") {
    const [pale, full] = shades[verdict];
    const part = Math.sqrt(Math.min(1, Math.abs(logOf(percent ?? 0)) / DOUBLE));
    return hex(pale.map((start, i) => start + (full[i]! - start) * part));
  }
  if (verdict === "no difference") return shades.same;
  return verdict === "inconclusive" ? shades.unknown : shades.only;
}

function hex(parts: number[]): string {
  return `#${parts.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}
