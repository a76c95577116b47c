import { Spark } from "../charts/Spark";
import * as format from "../format";
import { Scrollable } from "../parts/Scrollable";
import type { State } from "../state";
import type { Gauge } from "../types";
import { visible } from "../visible";

/** The values that the program itself reported. */
export function Gauges({ state }: { state: State }) {
  return (
    <Scrollable label="Table of gauges">
      <table class="numbers">
        <thead>
          <tr>
            <th class="words">gauge</th>
            {["last", "min", "p50", "p99", "max", "at 0", "readings"].map((head) => (
              <th key={head}>{head}</th>
            ))}
            <th>over the run</th>
          </tr>
        </thead>
        <tbody>
          {state.view.gauges.map((name) => (
            <Line key={name} name={name} gauge={state.report.gauges[name]!} />
          ))}
        </tbody>
      </table>
    </Scrollable>
  );
}

function Line({ name, gauge }: { name: string; gauge: Gauge }) {
  const { last, min, p50, p99, max, zeros, count, windows } = gauge;
  // Percentiles are approximate: they are rounded if all readings seem to be integers.
  const isWhole = [last, min, max].every(Number.isInteger);
  const quantile = (value: number | null) => format.reading(isWhole && value !== null ? Math.round(value) : value);
  return (
    <tr>
      <td class="words">
        <bdi>{visible(name)}</bdi>
      </td>
      <td>{format.reading(last)}</td>
      <td>{format.reading(min)}</td>
      <td>{quantile(p50)}</td>
      <td>{quantile(p99)}</td>
      <td>{format.reading(max)}</td>
      <td>{min < 0 ? "" : format.share(zeros / count)}</td>
      <td>{format.count(count)}</td>
      <td>
        <Spark extents={(windows?.readings ?? []).map(([at, , low, high]) => [at, low, high])} label={`${visible(name)} over the run`} />
      </td>
    </tr>
  );
}
