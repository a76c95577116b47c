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
  of: readonly string[];
  facts: readonly Fact[];
  children?: ComponentChildren;
}

/** The facts in which the runs differ; nothing if there are none. */
export function Facts({ id, title, of, facts, children }: Props) {
  if (!facts.length) return null;
  return (
    <Part id={id} title={title}>
      <Scrollable label={title}>
        <table class="numbers facts">
          <thead>
            <tr>
              {["fact", ...of].map((head, at) => (
                <th class="words" key={at}>{head}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {facts.map((fact) => (
              <tr key={fact.key} class={fact.isGround ? "alarm" : ""}>
                <td class="words">{fact.key}</td>
                {fact.of.map((value, at) => (
                  <td class="words" key={at}>{value || ABSENT}</td>
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
