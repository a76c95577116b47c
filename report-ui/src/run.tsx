import "uplot/dist/uPlot.min.css";
import "./style.css";
import { start } from "./start";
import { State } from "./state";
import type { Payload } from "./types";
import { Page } from "./views/Page";

void start<Payload>((payload, json) => <Page state={new State(payload, json)} />);
