import { Coded } from "../parts/Coded";
import { Part } from "../parts/Part";
import type { State } from "../state";
import type { Recommendation } from "../types";
import { visible } from "../visible";
import { NodeLink } from "./NodeLink";

const SHOWN = 3;

/** What to do, a card each, what saves most first; what else was found, and what is not worth it. */
export function Findings({ state }: { state: State }) {
  const { recommendations } = state.view.screen;
  const { dismissed } = state.view;
  const cards = recommendations.filter((each) => each.kind === "recommendation").slice(0, SHOWN);
  const others = recommendations.filter((each) => !cards.includes(each));
  if (!recommendations.length && !dismissed.length) return null;
  return (
    <Part id="findings" title="Recommendations">
      {cards.length ? <List state={state} of={cards} from={0} /> : <p>No rule has a recommendation.</p>}
      {dismissed.length > 0 && <p class="dismissed">Not worth optimizing: {dismissed.join(", ")}</p>}
      {others.length > 0 && (
        <details>
          <summary>{others.length === 1 ? "1 more finding" : `${others.length} more findings`}</summary>
          <List state={state} of={others} from={cards.length} />
        </details>
      )}
    </Part>
  );
}

function List({ state, of, from }: { state: State; of: readonly Recommendation[]; from: number }) {
  return (
    <ol class="findings" start={from + 1}>
      {of.map((each, at) => (
        <li key={at} class={each.severity}>
          <p class="gain">
            <b aria-hidden="true">{from + at + 1}</b>
            {each.gain.split("  ").map((piece, place) => (place ? <span key={place}> {piece}</span> : <strong key={place}>{piece}</strong>))}
          </p>
          <p class="sentence">
            <Coded text={each.text} />
          </p>
          <p class="evidence">
            {each.path && <NodeLink state={state} path={each.path} />}
            {each.evidence.map((piece, place) => (
              <span key={place}>{piece}</span>
            ))}
          </p>
          <Rule state={state} name={each.rule} />
        </li>
      ))}
    </ol>
  );
}

/** What the rule looks for, on demand: the page has no link to the documentation. */
function Rule({ state, name }: { state: State; name: string }) {
  const rule = state.view.rules[name];
  if (!rule?.about) return <span class="rule">rule: {visible(name)}</span>;
  return (
    <details class="rule">
      <summary>rule: {visible(name)}</summary>
      <p>
        {rule.about}
        {rule.page && (
          <>
            {" "}When exactly, and what to do about it: <code>{rule.page}</code> of ticktree's documentation.
          </>
        )}
      </p>
    </details>
  );
}
