import { Coded } from "../parts/Coded";
import type { State } from "../state";

/** What to mark in a program without loops: the next thing to do. */
export function Marks({ state }: { state: State }) {
  return state.view.marks.map((mark) => (
    <p key={mark} class="marks">
      <Coded text={mark} />
    </p>
  ));
}
