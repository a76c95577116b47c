import "uplot/dist/uPlot.min.css";
import "./style.css";
import { link } from "./link";
import { start } from "./start";
import { State } from "./state";
import type { Payload } from "./types";
import { Page } from "./views/Page";

void start<Payload>((payload, json) => {
  const state = new State(payload, json);
  link(state);
  return <Page state={state} />;
});
