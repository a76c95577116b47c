import { Part } from "../parts/Part";
import { visible } from "../visible";
import type { State } from "../state";
import { NodeLink } from "./NodeLink";

const SHOWN = 3;

/** What is worth doing, the most important first, with what it rests on; and what is not. */
export function Findings({ state }: { state: State }) {
  const { findings } = state.report;
  const { dismissed } = state.view;
  if (!findings.length && !dismissed.length) return null;
  return (
    <Part id="findings" title="Worth doing">
      {findings.length ? <List state={state} from={0} to={SHOWN} /> : <p>Nothing was found.</p>}
      {findings.length > SHOWN && (
        <details>
          <summary>{findings.length - SHOWN} more</summary>
          <List state={state} from={SHOWN} to={findings.length} />
        </details>
      )}
      {dismissed.length > 0 && (
        <>
          <h3>Not worth doing</h3>
          <ul class="dismissed">
            {dismissed.map((sentence, at) => (
              <li key={at}>{sentence}</li>
            ))}
          </ul>
        </>
      )}
    </Part>
  );
}

function List({ state, from, to }: { state: State; from: number; to: number }) {
  return (
    <ol class="findings" start={from + 1}>
      {state.report.findings.slice(from, to).map((finding, at) => (
        <li key={at} class={finding.severity}>
          <b aria-hidden="true">{from + at + 1}</b>
          <p>{visible(finding.message)}</p>
          <p class="evidence">
            {finding.path && <NodeLink state={state} path={finding.path} />}
            {/* Its last piece names the rule, which stands below. */}
            {(state.view.evidence[from + at] ?? []).slice(0, -1).map((piece, place) => (
              <span key={place}>{piece}</span>
            ))}
          </p>
          <Rule state={state} name={finding.rule} />
        </li>
      ))}
    </ol>
  );
}

/** What the rule that found it looks for, for who asks: the page has no address to send anybody to. */
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
