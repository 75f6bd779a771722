// The graph map's data, as graphmend-lsp makes it (server/graphmend_lsp/report/graph_map.schema.json).

export interface GraphMap {
  readonly schema: 1;
  readonly torch: string | null;
  readonly python: string | null;
  readonly device: string | null;
  readonly programs: readonly Program[];
  readonly places: readonly Place[];
  readonly errors: readonly string[];
  readonly mended: { readonly safety: string | null; readonly words: string } | null;
}

/** An entry, with one strip for each mode, or two where a mend is shown. */
export interface Program {
  readonly name: string;
  readonly path: string;
  readonly strips: readonly Strip[];
}

export interface Strip {
  readonly mode: "eval" | "train" | null;
  readonly state: "now" | "before" | "after";
  readonly run: "real" | "fake" | "recorded";
  readonly graphs: number;
  readonly ops: number;
  readonly breaks: number;
  readonly skipped_frames: number;
  readonly in_order: boolean;
  readonly note: string;
  readonly error: string | null;
  readonly pieces: readonly Piece[];
  readonly places: readonly number[];
}

export type Piece = Graph | Break | Outside;

export interface Graph {
  readonly kind: "graph";
  readonly ops: number;
  readonly function: string;
  readonly path: string;
  readonly line: number;
  /** Of the time of the call, from 0 to 1; null where it was not measured. */
  readonly share: number | null;
}

export interface Break {
  readonly kind: "break";
  readonly place: number;
}

/** Code that runs uncompiled because of a break. */
export interface Outside {
  readonly kind: "outside";
  readonly place: number;
  readonly function: string;
  readonly path: string;
  readonly line: number;
  readonly end_line: number;
}

export interface Place {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly linked: boolean;
  readonly state: Strip["state"];
  readonly code: string;
  readonly gb_type: string;
  readonly help: string | null;
  readonly reason: string;
  readonly text: string;
  readonly evidence: "dynamo" | "recorded" | "fake" | "static";
  readonly outcome: string;
  readonly cost: string;
  readonly asked_for: boolean;
  readonly chain: readonly { readonly package: string; readonly frames: readonly Frame[] }[];
  readonly mends: readonly Mend[];
  readonly declined: readonly string[];
}

export interface Frame {
  readonly path: string;
  readonly function: string;
  readonly line: number;
}

export interface Counts {
  readonly graphs: number;
  readonly breaks: number;
  readonly skipped_frames: number;
}

export interface Mend {
  readonly title: string;
  readonly safety: "safe" | "unsafe" | "wrong" | "unverified";
  readonly before: Counts | null;
  readonly after: Counts | null;
  readonly why: string;
}
