import type { ComponentChild } from "preact";
import { render } from "preact";
import { payloadIn } from "./payload";

/** Reads the page's data and draws it, or shows the error. */
export async function start<Payload>(page: (payload: Payload, json: string) => ComponentChild): Promise<void> {
  const report = document.getElementById("report")!;
  try {
    const { payload, json } = await payloadIn<Payload>(document.getElementById("ticktree-data")!.textContent!);
    render(page(payload, json), report);
  } catch (error) {
    report.textContent = `This report cannot be read: ${String(error)}`;
    throw error;
  }
}
