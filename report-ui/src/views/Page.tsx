import { Parts } from "../parts/Part";
import { Details } from "./Details";
import { Findings } from "./Findings";
import { Gauges } from "./Gauges";
import { Header } from "./Header";
import { Icicle } from "./Icicle";
import { Ledger } from "./Ledger";
import { Ticks } from "./Ticks";
import { Timeline } from "./Timeline";
import { Verdicts } from "./Verdicts";
import type { State } from "../state";

/** The whole report. What a later view needs of a run comes to it as these do: out of the state, by its place here. */
export function Page({ state }: { state: State }) {
  const { view, report } = state;
  if (view.nothing) {
    return (
      <>
        <Header state={state} sections={[]} />
        <p class="nothing">{view.nothing}</p>
      </>
    );
  }
  const sections = [
    { id: "ledger", title: "Ledger", shown: report.tree.children.length > 0, body: <Ledger state={state} /> },
    { id: "icicle", title: "Icicle", shown: report.tree.children.length > 0, body: <Icicle state={state} /> },
    { id: "ticks", title: "Ticks", shown: report.loops.length > 0, body: <Ticks state={state} /> },
    { id: "timeline", title: "Timeline", shown: view.timeline !== undefined, body: <Timeline state={state} /> },
    { id: "gauges", title: "Gauges", shown: view.gauges.length > 0, body: <Gauges state={state} /> },
  ].filter((section) => section.shown);
  return (
    <>
      <Header state={state} sections={sections} />
      <Verdicts state={state} />
      <Findings state={state} />
      <Parts of={sections} />
      <Details state={state} />
    </>
  );
}
