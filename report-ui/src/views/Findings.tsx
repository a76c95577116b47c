import { Coded } from "../parts/Coded";
import { Part } from "../parts/Part";
import type { State } from "../state";
import type { Recommendation } from "../types";
import { visible } from "../visible";
import { NodeLink } from "./NodeLink";

const SHOWN = 3;

/** One card per recommendation, the largest saving first; then further findings, and sections not worth optimizing. */
export function Findings({ state }: { state: State }) {
  const { recommendations } = state.view.screen;
  const { dismissed } = state.view;
  const cards = recommendations.filter((finding) => finding.kind === "recommendation").slice(0, SHOWN);
  const further = recommendations.filter((finding) => !cards.includes(finding));
  if (!recommendations.length && !dismissed.length) return null;
  return (
    <Part id="findings" title="Recommendations">
      {cards.length ? <List state={state} findings={cards} from={0} /> : <p>No rule has a recommendation.</p>}
      {dismissed.length > 0 && <p class="dismissed">Not worth optimizing: {dismissed.join(", ")}</p>}
      {further.length > 0 && (
        <details>
          <summary>{further.length === 1 ? "1 more finding" : `${further.length} more findings`}</summary>
          <List state={state} findings={further} from={cards.length} />
        </details>
      )}
    </Part>
  );
}

function List({ state, findings, from }: { state: State; findings: readonly Recommendation[]; from: number }) {
  return (
    <ol class="findings" start={from + 1}>
      {findings.map((finding, i) => (
        <li key={i} class={finding.severity}>
          <p class="gain">
            <b aria-hidden="true">{from + i + 1}</b>
            {finding.gain.split("  ").map((piece, i) => (i ? <span key={i}> {piece}</span> : <strong key={i}>{piece}</strong>))}
          </p>
          <p class="sentence">
            <Coded text={finding.text} />
          </p>
          <p class="evidence">
            {finding.path && <NodeLink state={state} path={finding.path} />}
            {finding.evidence.map((piece, i) => (
              <span key={i}>{piece}</span>
            ))}
          </p>
          <Rule state={state} name={finding.rule} />
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
