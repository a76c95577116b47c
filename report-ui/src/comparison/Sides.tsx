import * as format from "../format";
import type { Entry, Side } from "./types";
import { rates } from "./words";

/** Both sides as they were measured. */
export function Sides({ entry }: { entry: Entry }) {
  const sides: readonly (readonly [name: string, side: Side, meanNs: number | null])[] = [
    ["base", entry.base, entry.base_mean_ns],
    ["new", entry.new, entry.new_mean_ns],
  ];
  return (
    <table class="numbers">
      <thead>
        <tr>
          <th class="words">side</th>
          <th>mean</th>
          <th>min</th>
          <th>max</th>
          <th>{entry.kind === "loop" ? "ticks" : "calls"}</th>
          <th>values</th>
          <th class="rates">done</th>
        </tr>
      </thead>
      <tbody>
        {sides.map(([name, side, meanNs]) => (
          <tr key={name}>
            <td class="words">{name}</td>
            <td>{format.time(meanNs)}</td>
            <td>{format.time(side.min_ns)}</td>
            <td>{format.time(side.max_ns)}</td>
            <td>{format.count(side.count)}</td>
            <td>{format.count(side.units)}</td>
            <td class="rates">{rates(side).join(", ") || format.ABSENT}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
