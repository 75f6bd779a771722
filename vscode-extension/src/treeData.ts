// The graph breaks of the workspace as a tree: files, and in each its breaks. Pure: nothing of `vscode` may enter.

export interface Shown {
  readonly file: string;
  /** 0-based, as is the column. */
  readonly line: number;
  readonly column: number;
  readonly code: string;
  readonly message: string;
  /** As in `vscode.DiagnosticSeverity`: 0 error, 1 warning, 2 information, 3 hint. */
  readonly severity: number;
}

export interface FileNode {
  readonly file: string;
  readonly name: string;
  readonly words: string;
  readonly breaks: readonly BreakNode[];
}

export interface BreakNode extends Shown {
  readonly label: string;
}

/** Files in order of their path, breaks in order of their line; those that a run met are counted in the file's words. */
export function treeOf(shown: readonly Shown[]): readonly FileNode[] {
  const files = new Map<string, Shown[]>();
  for (const one of shown) files.set(one.file, [...(files.get(one.file) ?? []), one]);
  return [...files].sort(([one], [other]) => (one < other ? -1 : 1)).map(([file, found]) => ({
    file,
    name: file.split(/[\\/]/).at(-1) ?? file,
    words: wordsOf(found),
    breaks: [...found].sort((one, other) => one.line - other.line).map((one) => ({ ...one, label: `${one.line + 1}: ${firstSentence(one.message)}` })),
  }));
}

function wordsOf(found: readonly Shown[]): string {
  const met = found.filter((one) => one.severity <= 1).length;
  const likely = found.length - met;
  const parts = [met > 0 ? `${met} graph break${met === 1 ? "" : "s"}` : "", likely > 0 ? `${likely} not met in a run` : ""];
  return parts.filter((part) => part !== "").join(", ");
}

/** Up to the first full stop that ends a sentence, or the first line. */
export function firstSentence(message: string): string {
  const line = message.split("\n")[0] ?? "";
  return /^.*?[.!?](?=\s|$)/.exec(line)?.[0].replace(/\.$/, "") ?? line;
}
