import { Part, Parts } from "../parts/Part";
import { Coded } from "../parts/Coded";
import { Details } from "./Details";
import { Findings } from "./Findings";
import { Functions } from "./Functions";
import { Gauges } from "./Gauges";
import { Header } from "./Header";
import { Headlines } from "./Headlines";
import { Icicle } from "./Icicle";
import { Ledger } from "./Ledger";
import { Loops } from "./Loops";
import { Marks } from "./Marks";
import { Ticks } from "./Ticks";
import { Timeline } from "./Timeline";
import type { State } from "../state";

/** The whole report. What a later view needs of a run comes to it as these do: out of the state, by its place here. */
export function Page({ state }: { state: State }) {
  const { view, report } = state;
  if (view.screen.nothing) {
    return (
      <>
        <Header state={state} sections={[]} />
        <p class="nothing">
          <Coded text={view.screen.nothing} />
        </p>
      </>
    );
  }
  const sections = [
    { id: "ledger", title: "Ledger", shown: state.tree.places.length > 1, body: <Ledger state={state} /> },
    { id: "functions", title: "Functions", shown: view.sampled_tables.length > 0, body: <Functions state={state} /> },
    { id: "ticks", title: "Ticks", shown: report.loops.length > 0, body: <Ticks state={state} /> },
    { id: "timeline", title: "Timeline", shown: view.timeline !== undefined, body: <Timeline state={state} /> },
    { id: "gauges", title: "Gauges", shown: view.gauges.length > 0, body: <Gauges state={state} /> },
  ].filter((section) => section.shown);
  return (
    <>
      <Header state={state} sections={sections} />
      <Headlines state={state} />
      <Loops state={state} />
      <Marks state={state} />
      {state.tree.places.length > 1 && (
        <Part id="icicle" title="Where the time goes">
          <Icicle state={state} />
        </Part>
      )}
      <Findings state={state} />
      <Parts of={sections} />
      <Details state={state} />
    </>
  );
}
