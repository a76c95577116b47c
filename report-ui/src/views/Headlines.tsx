import { Coded } from "../parts/Coded";
import { Pieces } from "../parts/Pieces";
import type { State } from "../state";

/** How each loop that the report leads with does, and what makes the numbers doubtful. */
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
          <Pieces of={pieces.slice(1)} class="pieces" />
        </div>
      ))}
      {warnings.map(({ text, rule }, at) => (
        <p key={at} class={rule ? "warned" : "losses"} role="status">
          <Coded text={text} />
          {rule && <span class="faint"> {rule}</span>}
        </p>
      ))}
    </div>
  );
}
