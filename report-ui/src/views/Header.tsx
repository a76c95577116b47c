import { reportIn } from "../payload";
import { Pieces } from "../parts/Pieces";
import type { State } from "../state";
import { Masthead } from "./Masthead";

/** The head of a run's report: what was run, when, where and with what. */
export function Header({ state, sections }: { state: State; sections: { id: string; title: string }[] }) {
  const { title, provenance } = state.view.screen;
  const headline = provenance.map((fact) => fact.text);
  const { about } = state.view;
  return (
    <>
      <Masthead title={title} headline={headline} losses={[]} sections={sections} json={reportIn(state.json)} />
      {about.length > 0 && (
        <details class="about">
          <summary>more about the run</summary>
          <Pieces pieces={about} class="headline" />
        </details>
      )}
    </>
  );
}
