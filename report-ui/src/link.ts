import { effect } from "@preact/signals";
import type { State } from "./state";
import type { Phase } from "./tree";
import { choose, themeChoice, type Chosen } from "./theme";
import type { By } from "./types";

const PHASES: readonly string[] = ["steady", "warmup", "all"];
const THEMES: readonly string[] = ["auto", "light", "dark"];

/** Keeps the reader's choices in the address, so that opening it or reloading the page shows the same. */
export function link(state: State): void {
  const defaults = parameters(state);
  follow(state, hash());
  addEventListener("hashchange", () => follow(state, hash()));
  effect(() => {
    const changes = parameters(state);
    for (const [key, value] of Object.entries(defaults)) if (changes[key] === value) delete changes[key];
    const text = new URLSearchParams(changes).toString();
    // The address of a part of the page, such as #ticks, stays until another choice is made.
    if (text !== hash() && (text || isOurs(hash()))) history.replaceState(null, "", `#${text}`);
  });
}

function parameters(state: State): Record<string, string> {
  const { tree } = state;
  const path = (index: number | null) => (index === null || tree.items[index]!.kind !== "section" ? "" : tree.items[index]!.node.path);
  return {
    loop: state.loop.value,
    boxes: state.drawn.value ?? "",
    zoom: state.zoomed.value === state.home.value ? "" : path(state.zoomed.value),
    section: path(state.selected.value),
    tick: String(state.worst.value),
    search: state.query.value,
    rows: state.isByName.value ? "names" : "",
    phase: state.phase.value,
    by: state.by.value ?? "",
    span: state.span.value?.join("-") ?? "",
    theme: themeChoice.value,
  };
}

/** Applies the choices in an address; those that this run does not have are ignored. */
function follow(state: State, text: string): void {
  if (!isOurs(text)) return;
  const choices = new URLSearchParams(text);
  const get = (key: string) => choices.get(key);
  const treeIndex = (key: string) => state.tree.indexByPath.get(get(key) ?? "") ?? 0;
  if (state.loops.some((loop) => loop.path === get("loop"))) state.choose(get("loop")!);
  if (get("boxes") === "" || state.view.mean_ticks.some((tick) => tick.path === get("boxes"))) state.draw(get("boxes") || null);
  if (treeIndex("zoom")) state.zoomTo(treeIndex("zoom"));
  if (treeIndex("section")) state.show(get("section")!);
  const worst = state.report.loops.find((loop) => loop.path === state.loop.value)?.worst.length ?? 0;
  if (Number(get("tick")) < worst) state.worst.value = Math.max(0, Math.floor(Number(get("tick"))));
  if (get("search")) state.query.value = get("search")!;
  if (get("rows") === "names") state.isByName.value = true;
  if (PHASES.includes(get("phase") ?? "")) state.phase.value = get("phase") as Phase;
  if (state.view.workers[get("by") as By]) state.showBy(get("by") as By);
  const [from, to] = (get("span") ?? "").split("-").map(Number);
  if (state.view.timeline && from! < to!) state.span.value = [from!, to!];
  if (THEMES.includes(get("theme") ?? "")) choose(get("theme") as Chosen);
}

function isOurs(text: string): boolean {
  return text.includes("=");
}

function hash(): string {
  return location.hash.slice(1);
}
