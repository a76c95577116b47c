import { DataTable, SHARE_BAR } from "../parts/DataTable";
import type { State } from "../state";

/** Sampled functions: of a run without sections, and of threads without nodes. */
export function Functions({ state }: { state: State }) {
  return state.view.sampled_tables.map((table) => (
    <div key={table.title} class="by-name">
      <h3>{table.title}</h3>
      <DataTable table={table} picture={SHARE_BAR} />
    </div>
  ));
}
