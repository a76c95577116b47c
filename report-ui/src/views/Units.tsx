import * as format from "../format";
import type { Row } from "../rows";
import type { State } from "../state";
import type { Had } from "../units";
import { spreadOf } from "../units";

// More columns leave no room for names; then the columns are minimum, median, maximum, and who had the maximum.
export const COLUMNS_AT_MOST = 8;

/** What each process, thread or role had of a line; where they are many, or the screen is small, how far apart they are. */
export function Units({ state, row }: { state: State; row: Row }) {
  const units = state.view.units[state.by.value!] ?? [];
  const amounts = row.had ?? units.map(() => null);
  const spread = spreadOf(amounts);
  const among = spread && spread.units > 1 ? spread : null;
  return (
    <>
      <div class="strip" role="gridcell" aria-hidden="true">
        {among && <Strip amounts={amounts} mostNs={among.maxNs} />}
      </div>
      {units.length <= COLUMNS_AT_MOST ? (
        amounts.map((ns, at) => (
          <div class="unit" role="gridcell" key={at} style={bar(ns, among?.maxNs ?? 0)}>
            {ns === null ? "" : format.time(ns)}
          </div>
        ))
      ) : (
        <>
          <div class="least" role="gridcell">{among ? format.time(among.minNs) : ""}</div>
          <div class="middle" role="gridcell">{among ? format.time(among.medianNs) : ""}</div>
        </>
      )}
      <div class="most" role="gridcell">{spread ? format.time(spread.maxNs) : ""}</div>
      <div class="slowest" role="gridcell">{spread ? <bdi>{units[spread.slowest]!.title}</bdi> : ""}</div>
    </>
  );
}

function bar(ns: number | null, mostNs: number): Record<string, string> {
  const part = ns && mostNs > 0 ? `${Math.max(0, Math.min(100, (100 * ns) / mostNs))}%` : "0";
  return { backgroundSize: `${part} 3px` };
}

/** All of them side by side, as bars of their amounts. */
function Strip({ amounts, mostNs }: { amounts: Had; mostNs: number }) {
  const path = amounts
    .map((ns, at) => (ns && ns > 0 && mostNs > 0 ? `M${at} 1V${(1 - ns / mostNs).toFixed(3)}h.8V1z` : ""))
    .join("");
  return (
    <svg viewBox={`0 0 ${amounts.length} 1`} preserveAspectRatio="none">
      <path d={path} />
    </svg>
  );
}
