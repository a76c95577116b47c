import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { payloadIn } from "../src/payload";

const DATA = { report: { schema: "ticktree-profile/1" }, view: { title: "</script>\u2028 שלום 🚗" } };

test("plain data is read", async () => {
  const text = JSON.stringify(DATA).replaceAll("<", "\\u003c");
  expect((await payloadIn(`\n${text}\n`)).payload).toEqual(DATA);
});

test("packed data is read", async () => {
  const json = JSON.stringify(DATA);
  const read = await payloadIn(gzipSync(json).toString("base64"));
  expect(read).toEqual({ payload: DATA, json });
});

test("broken data is refused", async () => {
  await expect(payloadIn("{")).rejects.toThrow();
  await expect(payloadIn("AAAA")).rejects.toThrow();
});
