import { Coded } from "../parts/Coded";
import { Pieces } from "../parts/Pieces";
import type { State } from "../state";

/** The headline of each main loop, and the reasons to doubt the numbers. */
export function Headlines({ state }: { state: State }) {
  const { headlines, warnings } = state.view.screen;
  return (
    <div class="headlines">
      {headlines.map(({ path, name, pieces, is_missed }) => (
        <div key={path} class={is_missed ? "leads missed" : "leads"}>
          <h2>
            <button type="button" class="node" onClick={() => state.choose(path)}>
              <bdi>{name}</bdi>
            </button>{" "}
            <span class="figure">{pieces[0]}</span>
          </h2>
          <Pieces pieces={pieces.slice(1)} class="pieces" />
        </div>
      ))}
      {warnings.map(({ text, rule }, i) => (
        <p key={i} class={rule ? "warned" : "losses"} role="status">
          <Coded text={text} />
          {rule && <span class="faint"> {rule}</span>}
        </p>
      ))}
    </div>
  );
}
