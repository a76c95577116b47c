/** Reads the data out of the page's own element: JSON as it is, or packed with gzip and written in base64. */
export async function payloadIn<Payload>(text: string): Promise<{ payload: Payload; json: string }> {
  const trimmed = text.trim();
  const json = trimmed.startsWith("{") ? trimmed : await unpacked(trimmed);
  return { payload: JSON.parse(json) as Payload, json };
}

/** What a page shows, as it stands in its data, before the words that go with it: what `--format json` would have written. */
export function reportIn(json: string): string {
  return json.slice(json.indexOf(":") + 1, json.lastIndexOf(',"view":{"title":'));
}

async function unpacked(base64: string): Promise<string> {
  const binary = atob(base64);
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
