/** Reads the data from the page's element: plain JSON, or gzip in base64. */
export async function payloadIn<Payload>(text: string): Promise<{ payload: Payload; json: string }> {
  const trimmed = text.trim();
  const json = trimmed.startsWith("{") ? trimmed : await unpacked(trimmed);
  return { payload: JSON.parse(json) as Payload, json };
}

/** The first key of a page's data, before its words: the data of `--format json`. */
export function reportIn(json: string): string {
  return json.slice(json.indexOf(":") + 1, json.lastIndexOf(',"view":{"title":'));
}

async function unpacked(base64: string): Promise<string> {
  const binary = atob(base64);
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}
