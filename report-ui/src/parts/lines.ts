// The height of a line in style.css and runs.css.
export const LINE_PX = 28;
const INDENT_PX = 16;

/** The indentation of a line's name, at most that of `deepest`, so that names stay on the screen. */
export function indentation(depth: number, deepest: number): { paddingLeft: string } {
  return { paddingLeft: `${Math.min(depth, deepest) * INDENT_PX}px` };
}
