import "uplot/dist/uPlot.min.css";
import "./style.css";
import { render } from "preact";
import { payloadIn } from "./payload";
import { State } from "./state";
import { Page } from "./views/Page";

async function start(): Promise<void> {
  const report = document.getElementById("report")!;
  try {
    const { payload, json } = await payloadIn(document.getElementById("ticktree-data")!.textContent!);
    render(<Page state={new State(payload, json)} />, report);
  } catch (error) {
    report.textContent = `This report cannot be read: ${String(error)}`;
    throw error;
  }
}

void start();
