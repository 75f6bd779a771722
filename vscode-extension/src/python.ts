// Reaching Python: asking an interpreter about itself, finding programs on the PATH, the Python extension's active environment.

import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Probe } from "./launch";

const PROBE = `
import importlib.util, json, sys
server = None
if importlib.util.find_spec("graphmend_lsp") is not None:
    from importlib import metadata
    try:
        server = metadata.version("graphmend-lsp")
    except metadata.PackageNotFoundError:
        server = "unknown"
print(json.dumps({"executable": sys.executable, "version": list(sys.version_info[:3]), "server": server}))
`;

/** Asks `python` about itself. It starts in `cwd`, which must be no folder of a workspace: Python imports from there first. */
export function probe(python: string, cwd: string): Promise<Probe | Error> {
  return new Promise((resolve) => {
    execFile(python, ["-c", PROBE], { cwd, timeout: 20_000, windowsHide: true }, (error, stdout, stderr) => {
      if (error) {
        resolve(new Error(stderr.trim().split("\n").at(-1) || error.message));
        return;
      }
      try {
        resolve(JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Probe);
      } catch {
        resolve(new Error("it did not answer as Python does"));
      }
    });
  });
}

/** The absolute path of a program on the PATH. Relative entries of the PATH are passed over. */
export function which(name: string): string | undefined {
  const endings = process.platform === "win32" ? [".exe", ".cmd", ".bat"] : [""];
  for (const folder of (process.env["PATH"] ?? "").split(path.delimiter)) {
    if (!path.isAbsolute(folder)) continue;
    for (const ending of endings) {
      const file = path.join(folder, name + ending);
      if (isProgram(file)) return file;
    }
  }
  return undefined;
}

/** Whether this is a file that can be run. */
export function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** What is used of the Python extension's interface. */
interface PythonExtension {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(environment: { readonly path: string }): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** The interpreter that the Python extension has active for a folder; undefined without that extension or without a choice. */
export async function activePython(log: vscode.LogOutputChannel, folder: string | undefined): Promise<string | undefined> {
  const environments = (await pythonExtension(log))?.environments;
  if (environments === undefined) return undefined;
  try {
    const chosen = environments.getActiveEnvironmentPath(folder === undefined ? undefined : vscode.Uri.file(folder));
    const resolved = await environments.resolveEnvironment(chosen);
    return resolved?.executable.uri?.fsPath;
  } catch (error) {
    log.warn(`The Python extension did not report its environment: ${String(error)}`);
    return undefined;
  }
}

/** Calls `changed` when another environment is chosen in the Python extension. */
export async function onActivePythonChange(log: vscode.LogOutputChannel, changed: () => void): Promise<vscode.Disposable | undefined> {
  return (await pythonExtension(log))?.environments?.onDidChangeActiveEnvironmentPath(changed);
}

async function pythonExtension(log: vscode.LogOutputChannel): Promise<PythonExtension | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>("ms-python.python");
  if (extension === undefined) return undefined;
  try {
    return await extension.activate();
  } catch (error) {
    log.warn(`The Python extension did not start: ${String(error)}`);
    return undefined;
  }
}
