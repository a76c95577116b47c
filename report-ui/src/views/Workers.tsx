import * as format from "../format";
import type { Row } from "../rows";
import type { State } from "../state";
import type { Had } from "../workers";
import { spreadOf } from "../workers";

// More columns leave no room for names; then the columns are minimum, median, maximum, and the slowest worker.
export const MAX_COLUMNS = 8;

/** The time of each process, thread or role in a line; for many of them, or on a small screen, their spread. */
export function Workers({ state, row }: { state: State; row: Row }) {
  const workers = state.view.workers[state.by.value!] ?? [];
  const amounts = row.workerTimes ?? workers.map(() => null);
  const spread = spreadOf(amounts);
  const among = spread && spread.workers > 1 ? spread : null;
  return (
    <>
      <div class="strip" role="gridcell" aria-hidden="true">
        {among && <Strip amounts={amounts} maxNs={among.maxNs} />}
      </div>
      {workers.length <= MAX_COLUMNS ? (
        amounts.map((ns, i) => (
          <div class="column" role="gridcell" key={i} style={bar(ns, among?.maxNs ?? 0)}>
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
      <div class="slowest" role="gridcell">{spread ? <bdi>{workers[spread.slowest]!.title}</bdi> : ""}</div>
    </>
  );
}

function bar(ns: number | null, maxNs: number): Record<string, string> {
  const part = ns && maxNs > 0 ? `${Math.max(0, Math.min(100, (100 * ns) / maxNs))}%` : "0";
  return { backgroundSize: `${part} 3px` };
}

/** All workers next to one another, as bars. */
function Strip({ amounts, maxNs }: { amounts: Had; maxNs: number }) {
  const path = amounts
    .map((ns, i) => (ns && ns > 0 && maxNs > 0 ? `M${i} 1V${(1 - ns / maxNs).toFixed(3)}h.8V1z` : ""))
    .join("");
  return (
    <svg viewBox={`0 0 ${amounts.length} 1`} preserveAspectRatio="none">
      <path d={path} />
    </svg>
  );
}
