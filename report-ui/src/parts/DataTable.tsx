import type { ComponentChild } from "preact";
import type { Entry, Table } from "../types";
import { Scrollable } from "./Scrollable";

interface Props {
  table: Table;
  /** The label of a row, if it is more than its name. */
  name?: (row: Entry) => ComponentChild;
  /** A picture of a row, before its numbers, and the picture's head. */
  picture?: { title: string; of: (row: Entry) => ComponentChild };
  isChosen?: (row: Entry) => boolean;
}

/** A picture of a row's share, as a bar. */
export const SHARE_BAR: NonNullable<Props["picture"]> = {
  title: "",
  of: (row) => <i class="part" style={{ width: `${100 * Math.min(1, row.share ?? 0)}%` }} />,
};

/** A table of the report view, with columns, titles and cells from Python. */
export function DataTable({ table, name, picture, isChosen }: Props) {
  return (
    <Scrollable label={`Table: ${table.noun}`}>
      <table class="numbers data">
        <thead>
          <tr>
            <th class="words">{table.noun}</th>
            {picture && <th class="picture">{picture.title}</th>}
            {table.columns.map((head) => (
              <th key={head.key} class={`rank${head.rank}`} title={head.help}>
                {head.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, i) => (
            <tr key={i} class={`${row.tone}${isChosen?.(row) ? " chosen" : ""}`}>
              <td class="words">
                {name ? name(row) : <bdi>{row.name}</bdi>}
                {row.mark && <em class="mark">{row.mark}</em>}
                {row.notes.length > 0 && <span class="faint notes"> {row.notes.join(" · ")}</span>}
              </td>
              {picture && <td class="picture">{picture.of(row)}</td>}
              {table.columns.map((head) => (
                <td key={head.key} class={`rank${head.rank}`}>
                  {row.cells[head.key]}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {table.remark && <p class="hint">{table.remark}</p>}
    </Scrollable>
  );
}
