import * as format from "../format";
import { colorOf } from "../palette";
import { theme } from "../theme";
import type { CategoryShares, Loop } from "../types";

interface Props {
  tickNs: number;
  recorderNs: number;
  shares: CategoryShares["categories"];
  loop: Loop | null;
}

const LEAST_NAMED = 0.01;

/** The mean tick as one bar, made of what sorts of work it consists of, with the budget drawn across it. */
export function TickBar({ tickNs, shares, loop }: Props) {
  const budgetNs = loop?.budget_ns ?? null;
  const widthNs = Math.max(tickNs, budgetNs ?? 0) * (budgetNs === null ? 1 : 1.04) || 1;
  const percent = (ns: number) => `${(100 * ns) / widthNs}%`;
  return (
    <figure class="tick-bar">
      <div class="track" role="img" aria-label={`A mean tick of ${format.time(tickNs)} by category`}>
        {shares.map((one) => (
          <i
            key={one.name}
            title={`${one.name}: ${format.time(one.self_ns)}, ${format.share(one.share)}`}
            style={{ width: percent(one.self_ns), background: colorOf(one.name, theme.value) }}
          />
        ))}
        {budgetNs !== null && <b style={{ left: percent(budgetNs) }} title={`budget: ${format.time(budgetNs)}`} />}
      </div>
      <figcaption>
        {shares
          .filter((one) => one.share >= LEAST_NAMED)
          .map((one) => (
            <span key={one.name}>
              <i style={{ background: colorOf(one.name, theme.value) }} />
              {one.name} {format.share(one.share)}
            </span>
          ))}
        {budgetNs !== null && (
          <span>
            <i class="budget" />
            budget {format.time(budgetNs)}
          </span>
        )}
      </figcaption>
    </figure>
  );
}
