// What helps when the model's Python has no torch, or one that is too old: the buttons of the message, and what they do. Pure.

import { environmentsOf, type Host } from "./launch";

/** The server's notification `graphmend/pythonProblem`. */
export interface PythonProblem {
  /** What is the matter, naming the interpreter, and what to do. */
  readonly message: string;
  /** The URI of the workspace folder that it is about; null for what is in none. */
  readonly folder: string | null;
}

export type Help =
  | { readonly kind: "use"; readonly title: string; readonly python: string }
  | { readonly kind: "select" | "choose"; readonly title: string }
  | { readonly kind: "install"; readonly title: string; readonly command: string };

/**
 * What helps, most useful first: an environment of the folder that has torch, another interpreter, torch in this one.
 *
 * `python` is the interpreter in question; `selects` says whether the Python extension is there, `uv` whether uv made it.
 */
export async function helpWith(
  python: string | undefined, folder: string | undefined, host: Host, selects: boolean, uv: boolean,
): Promise<readonly Help[]> {
  const found: Help[] = [];
  for (const environment of environmentsOf(folder, host)) {
    if (environment.python === python) continue;
    const answer = await host.probe(environment.python);
    if (!(answer instanceof Error) && answer.torch) found.push({ kind: "use", title: `Use ${environment.name}`, python: environment.python });
  }
  found.push(selects ? { kind: "select", title: "Select Interpreter" } : { kind: "choose", title: "Choose Interpreter…" });
  if (python !== undefined) found.push({ kind: "install", title: "Install torch", command: installCommand(python, host.platform, uv) });
  return found;
}

/** The line for a terminal that installs or updates torch for an interpreter. */
export function installCommand(python: string, platform: NodeJS.Platform, uv: boolean): string {
  const plain = /^[\w./\\:~-]+$/.test(python);
  const quoted = plain ? python : `"${python.replaceAll(/(["$`])/g, platform === "win32" ? "$1" : "\\$1")}"`;
  if (uv) return `uv pip install --upgrade --python ${quoted} torch`;
  return `${platform === "win32" && !plain ? "& " : ""}${quoted} -m pip install --upgrade torch`;
}
