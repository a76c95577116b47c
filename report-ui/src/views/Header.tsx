import { reportIn } from "../payload";
import type { State } from "../state";
import { Masthead } from "./Masthead";

/** The head of a run's report. */
export function Header({ state, sections }: { state: State; sections: { id: string; title: string }[] }) {
  const { title, headline, losses } = state.view;
  const json = reportIn(state.json);
  return <Masthead title={title} headline={headline} losses={losses} sections={sections} json={json} />;
}
