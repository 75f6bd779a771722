// Which command starts the language server, and in which Python the user's program runs. Pure: files, processes and the
// Python extension are reached only through `Host`.

import * as path from "node:path";
import type { Settings } from "./settings";

/** The oldest Python that can run the server. */
export const OLDEST_PYTHON: readonly [number, number] = [3, 10];

/** What an interpreter said about itself. */
export interface Probe {
  readonly executable: string;
  readonly version: readonly [number, number, number];
  /** The version of graphmend-lsp that can be imported there, null when there is none. */
  readonly server: string | null;
  /** Whether torch can be imported there. */
  readonly torch: boolean;
}

/** Folders of virtual environments, as uv, poetry and most people name them. */
export const ENVIRONMENTS: readonly string[] = [".venv", "venv"];

export type Origin = "the setting graphmend.interpreter" | "the Python extension" | "the folder" | "the active environment" | "the PATH";

export interface Interpreter {
  readonly path: string;
  readonly origin: Origin;
}

/** The outside world as far as finding the server needs it. */
export interface Host {
  readonly platform: NodeJS.Platform;
  exists(file: string): boolean;
  which(name: string): string | undefined;
  /** Asks an interpreter about itself; an error's message says why it could not be asked. */
  probe(python: string): Promise<Probe | Error>;
  /** The Python extension's active environment for a workspace folder; undefined without that extension. */
  activePython(folder: string | undefined): Promise<string | undefined>;
  /** The folder of the environment that the extension manages, whether it exists or not. */
  readonly managed: string;
  /** The workspace folders' paths. */
  folders(): readonly string[];
  /** The environment's variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Launch {
  readonly kind: "found";
  readonly command: string;
  readonly args: readonly string[];
  /** How it was found, in words. */
  readonly how: string;
  /** Where the user's program runs; undefined leaves the choice to the server. */
  readonly python: string | undefined;
}

export interface Missing {
  readonly kind: "missing";
  readonly message: string;
  /** What helps: buttons of the message, most useful first. */
  readonly remedies: readonly Remedy[];
  readonly python: string | undefined;
}

export type Remedy = "createEnvironment" | "selectInterpreter" | "settings";

/**
 * Finds the server: `graphmend.path`, the interpreter, the managed environment, `graphmend-lsp` on the PATH; in this order.
 *
 * Without trust, neither the Python extension (which may pick an environment of the workspace) nor any program inside a
 * workspace folder is asked. VS Code itself keeps the workspace's values of the restricted settings away.
 */
export async function findServer(settings: Settings, trusted: boolean, host: Host): Promise<Launch | Missing> {
  const allowed = (file: string): boolean => trusted || !host.folders().some((folder) => inside(folder, file));
  const interpreter = await findInterpreter(settings, trusted, host);
  const python = interpreter?.path;
  const started = (command: string, words: readonly string[], how: string): Launch => ({
    kind: "found", command, args: [...words, ...settings.args, "--stdio"], how, python,
  });
  const missing = (message: string, ...remedies: Remedy[]): Missing => ({ kind: "missing", message, remedies, python });

  if (settings.path.length > 0) {
    const file = settings.path.find((candidate) => path.isAbsolute(candidate) && host.exists(candidate) && allowed(candidate));
    if (file !== undefined) return started(file, [], "the setting graphmend.path");
    return missing(`graphmend.path names no existing file: ${settings.path.join(", ")}.`, "settings");
  }

  let why = "Python was not found.";
  if (interpreter !== undefined && settings.importStrategy === "fromEnvironment") {
    const probe = await host.probe(interpreter.path);
    if (!(probe instanceof Error) && probe.server !== null && recent(probe)) {
      return started(probe.executable, ["-m", "graphmend_lsp"], `graphmend-lsp ${probe.server} in ${interpreter.origin}`);
    }
    if (probe instanceof Error) {
      why = `${interpreter.path} (from ${interpreter.origin}) does not start: ${probe.message}`;
      if (interpreter.origin === "the setting graphmend.interpreter") return missing(why, "settings");
    } else {
      why = probe.server === null || recent(probe)
        ? `graphmend-lsp is not installed in ${interpreter.path}.`
        : `${interpreter.path} is Python ${probe.version.join(".")}; the server needs ${OLDEST_PYTHON.join(".")} or newer.`;
    }
  }

  const managed = environmentPython(host.managed, host.platform);
  if (host.exists(managed)) return started(managed, ["-m", "graphmend_lsp"], "the managed environment");
  if (settings.importStrategy === "useBundled") return missing("The managed environment does not exist yet.", "createEnvironment", "settings");
  const onPath = host.which("graphmend-lsp");
  if (onPath !== undefined && allowed(onPath)) return started(onPath, [], "the PATH");
  return missing(why, "createEnvironment", "selectInterpreter", "settings");
}

/** The Python in which the user's program runs: that of one workspace folder, else of the first. */
export async function findInterpreter(
  settings: Settings, trusted: boolean, host: Host, folder: string | undefined = host.folders()[0],
): Promise<Interpreter | undefined> {
  const allowed = (file: string): boolean => trusted || !host.folders().some((folder) => inside(folder, file));
  const told = settings.interpreter[0];
  if (told !== undefined && allowed(told)) return { path: told, origin: "the setting graphmend.interpreter" };
  const active = trusted ? await host.activePython(folder) : undefined;
  if (active !== undefined) return { path: active, origin: "the Python extension" };
  const own = trusted ? environmentsOf(folder, host)[0] : undefined;
  if (own !== undefined) return { path: own.python, origin: "the folder" };
  for (const name of ["VIRTUAL_ENV", "CONDA_PREFIX"]) {
    const root = host.env[name];
    const found = root === undefined || root === "" ? undefined : pythonIn(root, host);
    if (found !== undefined && allowed(found)) return { path: found, origin: "the active environment" };
  }
  const first = pythonsOnPath(host).find(allowed);
  return first === undefined ? undefined : { path: first, origin: "the PATH" };
}

/** A Python that can run the server, for its own environment: the model's if it is recent enough, else one of the PATH. */
export async function findRecentPython(settings: Settings, trusted: boolean, host: Host): Promise<string | Error> {
  const own = (await findInterpreter(settings, trusted, host))?.path;
  let why: Error | undefined;
  for (const python of new Set([own, ...(trusted ? pythonsOnPath(host) : [])])) {
    if (python === undefined) continue;
    const answer = await host.probe(python);
    if (!(answer instanceof Error) && recent(answer)) return answer.executable;
    why ??= answer instanceof Error ? answer : new Error(`${answer.executable} is Python ${answer.version.join(".")}`);
  }
  return why ?? new Error("no Python was found");
}

function pythonsOnPath(host: Host): readonly string[] {
  const names = host.platform === "win32" ? ["python", "python3"] : ["python3", "python"];
  return names.map((name) => host.which(name)).filter((found) => found !== undefined);
}

/** The virtual environments that lie in a folder, by name. */
export function environmentsOf(folder: string | undefined, host: Host): readonly { readonly name: string; readonly python: string }[] {
  return ENVIRONMENTS.flatMap((name) => {
    const python = folder === undefined ? undefined : pythonIn(path.join(folder, name), host);
    return python === undefined ? [] : [{ name, python }];
  });
}

/** The Python of a virtual or conda environment, if it is there. */
function pythonIn(root: string, host: Host): string | undefined {
  const candidates = [environmentPython(root, host.platform), ...(host.platform === "win32" ? [path.win32.join(root, "python.exe")] : [])];
  return candidates.find((file) => host.exists(file));
}

/** Whether two launches start the same server. */
export function startsAlike(one: Launch, other: Launch): boolean {
  return JSON.stringify([one.command, one.args]) === JSON.stringify([other.command, other.args]);
}

/** The interpreter of a virtual environment. */
export function environmentPython(folder: string, platform: NodeJS.Platform): string {
  return platform === "win32" ? path.win32.join(folder, "Scripts", "python.exe") : path.posix.join(folder, "bin", "python");
}

/** Whether this Python can run the server. */
export function recent(probe: Probe): boolean {
  const [major, minor] = probe.version;
  return major > OLDEST_PYTHON[0] || (major === OLDEST_PYTHON[0] && minor >= OLDEST_PYTHON[1]);
}

function inside(folder: string, file: string): boolean {
  const relative = path.relative(folder, file);
  return relative === "" || (!relative.startsWith("..") && !path.isAbsolute(relative));
}
