import type { ComponentChildren } from "preact";
import { ABSENT } from "../format";
import { Part } from "./Part";
import { Scrollable } from "./Scrollable";

/** A fact in which the runs differ: the value of each. */
export interface Fact {
  key: string;
  of: readonly string[];
  isGround?: boolean | undefined;
}

interface Props {
  id: string;
  title: string;
  columns: readonly string[];
  facts: readonly Fact[];
  children?: ComponentChildren;
}

/** The facts in which the runs differ; nothing if there are none. */
export function Facts({ id, title, columns, facts, children }: Props) {
  if (!facts.length) return null;
  return (
    <Part id={id} title={title}>
      <Scrollable label={title}>
        <table class="numbers facts">
          <thead>
            <tr>
              {["fact", ...columns].map((head, i) => (
                <th class="words" key={i}>{head}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {facts.map((fact) => (
              <tr key={fact.key} class={fact.isGround ? "alarm" : ""}>
                <td class="words">{fact.key}</td>
                {fact.of.map((value, i) => (
                  <td class="words" key={i}>{value || ABSENT}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrollable>
      {children}
    </Part>
  );
}
