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

/** The whole report. Views get what they need from the state; this list determines their order. */
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
    { id: "ledger", title: "Ledger", isShown: state.tree.items.length > 1, body: <Ledger state={state} /> },
    { id: "functions", title: "Functions", isShown: view.sampled_tables.length > 0, body: <Functions state={state} /> },
    { id: "ticks", title: "Ticks", isShown: report.loops.length > 0, body: <Ticks state={state} /> },
    { id: "timeline", title: "Timeline", isShown: view.timeline !== undefined, body: <Timeline state={state} /> },
    { id: "gauges", title: "Gauges", isShown: view.gauges.length > 0, body: <Gauges state={state} /> },
  ].filter((section) => section.isShown);
  return (
    <>
      <Header state={state} sections={sections} />
      <Headlines state={state} />
      <Loops state={state} />
      <Marks state={state} />
      {state.tree.items.length > 1 && (
        <Part id="icicle" title="Where the time goes">
          <Icicle state={state} />
        </Part>
      )}
      <Findings state={state} />
      <Parts parts={sections} />
      <Details state={state} />
    </>
  );
}
