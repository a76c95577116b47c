import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as format from "../src/format";
import { visible } from "../src/visible";

type Case = [name: string, values: (number | string | null)[], text: string];

// tests/outputs/html/test_html_wording.py holds the other side to the same file.
const cases = JSON.parse(readFileSync(new URL("formatting.json", import.meta.url), "utf8")) as Case[];
const functions = { ...format, visible } as unknown as Record<string, (...values: unknown[]) => string>;

describe("numbers and names are written as the other views write them", () => {
  test.each(cases)("%s(%j) is %j", (name, values, text) => {
    expect(functions[name]!(...values)).toBe(text);
  });
});

test("the cases cover every function that both sides have", () => {
  expect(new Set(cases.map(([name]) => name))).toEqual(
    new Set(["time", "count", "hertz", "share", "reading", "change", "visible"]),
  );
});
