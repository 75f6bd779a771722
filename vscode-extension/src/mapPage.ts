// The graph map's page in the editor, and what it may ask for. Pure: nothing of `vscode` may enter.

export interface OpenRequest {
  readonly kind: "open";
  readonly path: string;
  /** 1-based. */
  readonly line: number;
  /** 1-based, in code points. */
  readonly column: number;
}

/** The page: nothing is loaded, and only what carries the nonce runs or styles. */
export function mapPage(script: string, style: string, nonce: string): string {
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Graph map</title>
<style nonce="${nonce}">${style}</style>
</head>
<body>
<div id="graph-map"></div>
<script nonce="${nonce}">${script}</script>
</body>
</html>`;
}

/** A message of the page; undefined when it is none that the page sends. */
export function readRequest(message: unknown): { readonly kind: "ready" } | OpenRequest | undefined {
  const told = (typeof message === "object" && message !== null ? message : {}) as Record<string, unknown>;
  if (told.kind === "ready") return { kind: "ready" };
  const { path, line, column } = told;
  const counts = (value: unknown): value is number => typeof value === "number" && Number.isInteger(value) && value > 0;
  if (told.kind !== "open" || typeof path !== "string" || !counts(line) || !counts(column)) return undefined;
  return { kind: "open", path, line, column };
}

/** The file and the number of the code cell (1-based) of a place in a notebook, which the server calls ``nb.ipynb:cell 2``. */
export function cellOf(path: string): { readonly file: string; readonly number: number } | undefined {
  const found = /^(.*\.ipynb):cell (\d+)$/.exec(path);
  return found === null ? undefined : { file: found[1] ?? "", number: Number(found[2]) };
}

/** A 1-based column in code points as the 0-based UTF-16 offset in its line. */
export function utf16Column(line: string, column: number): number {
  return [...line].slice(0, column - 1).join("").length;
}
