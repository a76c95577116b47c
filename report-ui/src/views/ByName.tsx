import * as format from "../format";
import { DataTable, SHARE_BAR } from "../parts/DataTable";
import { containsAll, wordsOf } from "../path";
import type { State } from "../state";
import type { Entry, Table } from "../types";

/** The self time of a mean tick by the names of its sections: one row per name, and the sum of a search. */
export function ByName({ state }: { state: State }) {
  const tick = state.tick.value ?? state.view.mean_ticks[0];
  const table = tick?.by_name;
  if (!tick || !table) return <p class="hint">One section has all the self time.</p>;
  const rows = table.rows.filter((row) => matches(row, state.query.value));
  return (
    <div class="by-name">
      <h3>{table.title}</h3>
      <DataTable
        table={rows.length > 1 && state.query.value ? summed(table, rows, tick.tick_ns) : { ...table, rows }}
        name={(row) =>
          row.path ? (
            <button type="button" class="node" onClick={() => state.show(row.path)}>
              <bdi>{row.name}</bdi>
            </button>
          ) : (
            <bdi>{row.name}</bdi>
          )
        }
        picture={SHARE_BAR}
      />
      {!rows.length && <p class="hint">No section has that in its name.</p>}
    </div>
  );
}

function matches(row: Entry, query: string): boolean {
  return containsAll(row.name, wordsOf(query));
}

/** The rows that match a search, after a row with their sum. */
function summed(table: Table, rows: readonly Entry[], tickNs: number): Table {
  const ns = rows.reduce((sum, row) => sum + Number(row.values["self_ns"] ?? 0), 0);
  const share = tickNs ? ns / tickNs : 0;
  const sum: Entry = {
    name: `${format.count(rows.length)} names together`,
    path: "",
    mark: "",
    tone: "strong",
    share,
    cells: { share: format.share(share), self_ns: format.time(ns) },
    values: {},
    notes: [],
  };
  return { ...table, rows: [sum, ...rows] };
}
