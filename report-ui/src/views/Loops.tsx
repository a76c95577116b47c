import { type Extent, Spark } from "../charts/Spark";
import { DataTable } from "../parts/DataTable";
import type { State } from "../state";
import type { Entry } from "../types";

/** One row per loop, in the order of all outputs: loops that miss ticks first. */
export function Loops({ state }: { state: State }) {
  const table = state.view.screen.loops;
  if (!table) return null;
  const means = (row: Entry): Extent[] => {
    const index = state.tree.indexByPath.get(row.path);
    const windows = index === undefined ? undefined : state.tree.items[index]!.node.windows;
    const sums = new Map(windows?.totals_ns);
    return (windows?.counts ?? []).map(([at, count]) => {
      const mean = (sums.get(at) ?? 0) / count;
      return [at, mean, mean];
    });
  };
  const picture = {
    title: "over the run",
    of: (row: Entry) => <Spark extents={means(row)} label={`Mean tick of ${row.name} over the run`} />,
  };
  return (
    <div id="loops">
      <DataTable
        table={table}
        isChosen={(row) => row.path === state.loop.value}
        name={(row) => (
          <button type="button" class="node" aria-pressed={row.path === state.loop.value} onClick={() => state.choose(row.path)}>
            <bdi>{row.name}</bdi>
          </button>
        )}
        {...(table.rows.some((row) => means(row).length > 1) && { picture })}
      />
    </div>
  );
}
