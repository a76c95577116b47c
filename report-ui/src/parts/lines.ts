// The height of a line in style.css and runs.css.
export const LINE_PX = 28;
const INDENT_PX = 16;

/** How far in a line's name begins. Lines deeper than `deepest` keep to it, so that names stay on the screen. */
export function indented(depth: number, deepest: number): { paddingLeft: string } {
  return { paddingLeft: `${Math.min(depth, deepest) * INDENT_PX}px` };
}
