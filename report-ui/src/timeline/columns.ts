import type { TimelineFacts } from "../types";

/** The calls of all tracks, track by track, by start. */
export interface Columns {
  startNs: Float64Array;
  durationNs: Float64Array;
  node: Uint32Array;
  /** The lateness of ticks, in the order of `TimelineFacts.ticks`. */
  lateNs: Float64Array;
}

const CHUNK = 1 << 20;

/** Reads base64 into bytes piece by piece, so that the page can respond in between. */
export async function unpacked(base64: string): Promise<Uint8Array> {
  const stream = new DecompressionStream("gzip");
  const buffer = new Response(stream.readable).arrayBuffer();
  const writer = stream.writable.getWriter();
  const text = base64.trim();
  for (let start = 0; start < text.length; start += CHUNK) {
    const binary = atob(text.slice(start, start + CHUNK));
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
    await writer.write(bytes);
    await breath();
  }
  await writer.close();
  return new Uint8Array(await buffer);
}

/** Reads numbers from their bytes, and starts from the gaps between them: outputs/html/events.py. */
export async function columnsOf(bytes: Uint8Array, facts: TimelineFacts): Promise<Columns> {
  const count = facts.drawn;
  const [gapPlanes, durationPlanes, nodePlanes] = facts.planes;
  const startNs = numbers(bytes, 0, count, gapPlanes, new Float64Array(count));
  await breath();
  const durationNs = numbers(bytes, gapPlanes * count, count, durationPlanes, new Float64Array(count));
  await breath();
  const node = numbers(bytes, (gapPlanes + durationPlanes) * count, count, nodePlanes, new Uint32Array(count));
  const ticks = facts.ticks.reduce((sum, [, , , many]) => sum + many, 0);
  const lateNs = numbers(bytes, (gapPlanes + durationPlanes + nodePlanes) * count, ticks, facts.late_planes, new Float64Array(ticks));
  let offset = 0;
  for (const { calls } of facts.tracks) {
    for (const end = offset + calls, first = offset; offset < end; offset += 1) if (offset > first) startNs[offset]! += startNs[offset - 1]!;
  }
  return { startNs, durationNs, node, lateNs };
}

function numbers<To extends Float64Array | Uint32Array>(bytes: Uint8Array, from: number, count: number, planes: number, to: To): To {
  for (let plane = 0, weight = 1; plane < planes; plane += 1, weight *= 256) {
    const offset = from + plane * count;
    for (let i = 0; i < count; i += 1) to[i]! += bytes[offset + i]! * weight;
  }
  return to;
}

export function breath(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
