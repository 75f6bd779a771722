// What the graph map says. Pure.

import type { Graph, Mend, Outside, Piece, Place, Strip } from "./shape";

export const many = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

export const nameOf = (path: string): string => path.split(/[\\/]/).at(-1) ?? path;

export const whereOf = (place: { path: string; line: number }): string => `${nameOf(place.path)}:${place.line}`;

export function stripTitle(strip: Strip): string {
  const how = strip.run === "fake" ? ", without data" : "";
  const state = strip.state === "now" ? "" : `, ${strip.state === "before" ? "before the mend" : "after the mend"}`;
  return `${strip.mode ?? "recorded run"}${how}${state}`;
}

export function stripWords(strip: Strip): string {
  if (strip.error !== null) return "did not run to its end";
  const skipped = strip.skipped_frames > 0 ? `, ${many(strip.skipped_frames, "skipped frame")}` : "";
  return `${many(strip.graphs, "graph")} (${many(strip.ops, "operator")}), ${many(strip.breaks, "graph break")}${skipped}`;
}

export function graphWords(graph: Graph, number: number, of: number): string {
  const where = graph.path === "" ? "" : ` in ${graph.function}, ${whereOf(graph)}`;
  const share = graph.share === null ? "" : `, ${percent(graph.share)} of the time`;
  return `Graph ${number} of ${of}: ${many(graph.ops, "operator")}${where}${share}`;
}

export const percent = (share: number): string => (share > 0 && share < 0.005 ? "<1%" : `${Math.round(share * 100)}%`);

/** What the time is spent in, where every graph was measured: the rest is Python between and around the graphs. */
export function timeWords(strip: Strip): string {
  const shares = strip.pieces.flatMap((piece) => (piece.kind === "graph" ? [piece.share] : []));
  if (shares.length === 0 || shares.some((share) => share === null)) return "";
  const inside = Math.min(shares.reduce<number>((sum, share) => sum + (share ?? 0), 0), 1);
  const what = strip.mode === "train" ? "the forward pass" : "the call";
  return `${percent(inside)} of the time of ${what} is in the graphs, ${percent(1 - inside)} outside of any graph (with eager operators)`;
}

export function breakWords(place: Place, number: number): string {
  const where = place.path === "" ? "" : `, ${whereOf(place)}`;
  return `Graph break ${number}: ${place.code}${where}${place.text === "" ? "" : `, ${place.text}`}`;
}

export function outsideWords(outside: Outside): string {
  const lines = outside.line === outside.end_line ? `line ${outside.line}` : `lines ${outside.line} to ${outside.end_line}`;
  return `${outside.function} runs uncompiled: ${lines} of ${nameOf(outside.path)}`;
}

export function saving(mend: Mend): string {
  if (mend.before === null || mend.after === null) return "";
  const { before, after } = mend;
  const parts = [
    [before.graphs, after.graphs, "graphs"], [before.breaks, after.breaks, "breaks"],
    [before.skipped_frames, after.skipped_frames, "skipped frames"],
  ] as const;
  return parts.filter(([old, now]) => old !== now).map(([old, now, what]) => `${old} → ${now} ${what}`).join(", ");
}

/** How often a place breaks a graph in the strip that it breaks most. */
export function timesOf(place: number, strips: readonly Strip[]): number {
  return Math.max(0, ...strips.map(({ pieces }) => pieces.filter((one) => one.kind === "break" && one.place === place).length));
}

/** What runs uncompiled because of a break, in words; each stretch once. */
export function outsidesOf(place: number, strips: readonly Strip[]): readonly string[] {
  const pieces = strips.flatMap((strip) => strip.pieces);
  return [...new Set(pieces.flatMap((one) => (one.kind === "outside" && one.place === place ? [outsideWords(one)] : [])))];
}

/** Words with the parts between backticks apart: every second part is code. */
export const codeParts = (words: string): readonly string[] => words.split("`");

/** The width of a graph, in rem: its area grows with its operators, so that many small ones and a large one both fit. */
export const widthOf = (ops: number): number => Math.min(Math.max(2.25, Math.sqrt(ops) * 0.8), 14);

/** The numbers that the breaks of these strips go by: from 1, in the order in which they are met. */
export function numbered(strips: readonly Strip[]): ReadonlyMap<number, number> {
  const numbers = new Map<number, number>();
  for (const strip of strips) {
    const met = strip.pieces.flatMap((piece: Piece) => (piece.kind === "break" ? [piece.place] : []));
    for (const place of [...met, ...strip.places]) if (!numbers.has(place)) numbers.set(place, numbers.size + 1);
  }
  return numbers;
}
