// Reaching Python: asking an interpreter about itself, finding programs on the PATH, the Python extension's active environment.

import { execFile } from "node:child_process";
import { accessSync, constants, readFileSync, statSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { chosenPython, type EnvironmentsExtension, type PythonEnvironments } from "./chosenPython";
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
torch = importlib.util.find_spec("torch") is not None
print(json.dumps({"executable": sys.executable, "version": list(sys.version_info[:3]), "server": server, "torch": torch}))
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

/** Whether uv made the environment of an interpreter: it puts no pip into it. */
export function isMadeByUv(python: string): boolean {
  try {
    return /^uv\s*=/m.test(readFileSync(path.join(path.dirname(python), "..", "pyvenv.cfg"), "utf-8"));
  } catch {
    return false;
  }
}

export function hasPythonExtension(): boolean {
  return vscode.extensions.getExtension("ms-python.python") !== undefined;
}

/** The interpreter that the Python extensions have active for a folder; undefined without them or without a choice. */
export async function activePython(log: vscode.LogOutputChannel, folder: string | undefined): Promise<string | undefined> {
  const place = folder === undefined ? undefined : vscode.Uri.file(folder);
  const say = (words: string) => log.warn(words);
  return chosenPython(await environmentsExtension(log), (await pythonExtension(log))?.environments, place, say);
}

/** Calls `changed` when another environment is chosen in one of the Python extensions. */
export async function onActivePythonChange(log: vscode.LogOutputChannel, changed: () => void): Promise<vscode.Disposable> {
  const subscriptions = [
    (await environmentsExtension(log))?.onDidChangeEnvironment?.(changed),
    (await pythonExtension(log))?.environments?.onDidChangeActiveEnvironmentPath(changed),
  ];
  return vscode.Disposable.from(...subscriptions.filter((one) => one !== undefined));
}

function pythonExtension(log: vscode.LogOutputChannel): Promise<{ readonly environments?: PythonEnvironments } | undefined> {
  return started("ms-python.python", "Python", log);
}

function environmentsExtension(log: vscode.LogOutputChannel): Promise<EnvironmentsExtension | undefined> {
  return started("ms-python.vscode-python-envs", "Python Environments", log);
}

async function started<T>(id: string, name: string, log: vscode.LogOutputChannel): Promise<T | undefined> {
  const extension = vscode.extensions.getExtension<T>(id);
  if (extension === undefined) return undefined;
  try {
    return await extension.activate();
  } catch (error) {
    log.warn(`The extension ${name} did not start: ${String(error)}`);
    return undefined;
  }
}
