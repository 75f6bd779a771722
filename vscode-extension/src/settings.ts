// The settings `graphmend.*` as plain data, and what of them the server is told. Pure: nothing of `vscode` may enter.

export type ImportStrategy = "fromEnvironment" | "useBundled";
export type Notifications = "off" | "onError" | "onWarning" | "always";

export interface Settings {
  readonly enable: boolean;
  /** The interpreter of the user's program as it was set; empty when it is to be found. */
  readonly interpreter: readonly string[];
  readonly path: readonly string[];
  readonly args: readonly string[];
  readonly importStrategy: ImportStrategy;
  readonly run: "onSave" | "onEverySave" | "manual" | "off";
  readonly entries: readonly string[];
  readonly device: "auto" | "cpu" | "cuda";
  readonly mode: "eval" | "train" | "both";
  /** Whether the sides of branches that the inputs do not take are followed without data. */
  readonly explore: boolean;
  /** Whether inputs are made up for models without an entry. */
  readonly guess: boolean;
  /** Explain a mend that is not plain in one comment line. */
  readonly comments: boolean;
  /** Whether lenses stand above entries and models. */
  readonly codeLens: boolean;
  /** Whether the places where graphs begin are marked. */
  readonly inlayHints: boolean;
  readonly worker: {
    readonly command: readonly string[];
    /** Folders that the worker sees elsewhere, `HERE=THERE`. */
    readonly pathMapping: readonly string[];
    readonly timeout: number;
    readonly memory: number | null;
  };
  readonly environmentSource: string;
  readonly showNotifications: Notifications;
  readonly logLevel: "error" | "warning" | "info" | "debug";
}

/** What `${...}` in a setting stands for. */
export interface Variables {
  readonly home: string;
  readonly cwd: string;
  /** The path of the workspace folder that the settings are read for: `${workspaceFolder}`. */
  readonly folder: string | undefined;
  /** All workspace folders, for `${workspaceFolder:NAME}`. */
  readonly folders: readonly { readonly name: string; readonly path: string }[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Reads all settings through `get(key)`, which gives the value without the prefix `graphmend.` or undefined. */
export function readSettings(get: (key: string) => unknown, variables: Variables): Settings {
  const list = (key: string): readonly string[] =>
    strings(get(key))
      .map((value) => substitute(value, variables))
      .filter((value) => value !== "");
  return {
    enable: get("enable") !== false,
    interpreter: list("interpreter"),
    path: list("path"),
    args: list("args"),
    importStrategy: oneOf(get("importStrategy"), ["fromEnvironment", "useBundled"]),
    run: oneOf(get("run"), ["onSave", "onEverySave", "manual", "off"]),
    entries: list("entries"),
    device: oneOf(get("device"), ["auto", "cpu", "cuda"]),
    mode: oneOf(get("mode"), ["eval", "train", "both"]),
    explore: get("explore") !== false,
    guess: get("guess") !== false,
    comments: get("comments") !== false,
    codeLens: get("codeLens") !== false,
    inlayHints: get("inlayHints") === true,
    worker: {
      command: list("worker.command"),
      pathMapping: list("worker.pathMapping"),
      timeout: positive(get("worker.timeout")) ?? 120,
      memory: positive(get("worker.memory")),
    },
    environmentSource: substitute(strings(get("environment.source"))[0] ?? "", variables),
    showNotifications: oneOf(get("showNotifications"), ["onError", "off", "onWarning", "always"]),
    logLevel: oneOf(get("logLevel"), ["info", "error", "warning", "debug"]),
  };
}

/** The settings as the server reads them; `python` is the interpreter that was found for the user's program. */
export function serverSettings(settings: Settings, python: string | undefined): Record<string, unknown> {
  return {
    enable: settings.enable,
    interpreter: python === undefined ? [] : [python],
    interpreterFound: settings.interpreter.length === 0, // then the project's own stands
    run: settings.run,
    entries: settings.entries,
    device: settings.device,
    mode: settings.mode,
    explore: settings.explore,
    guess: settings.guess,
    comments: settings.comments,
    codeLens: settings.codeLens,
    inlayHints: settings.inlayHints,
    worker: { ...settings.worker, memory: settings.worker.memory ?? 0 },
    logLevel: settings.logLevel,
  };
}

/** The settings that the server takes while it runs; every other one needs a new server. */
const LIVE = ["run", "entries", "device", "mode", "explore", "guess", "comments", "codeLens", "inlayHints", "logLevel", "showNotifications", "trace.server"];

/** Whether a change of settings needs a new server; `affects(key)` tells whether `graphmend.<key>` changed. */
export function needsRestart(affects: (key: string) => boolean): boolean {
  const needing = ["enable", "interpreter", "path", "args", "importStrategy", "worker", "environment"];
  return needing.some(affects);
}

/** Whether a running server must be told of a change of settings. */
export function needsTelling(affects: (key: string) => boolean): boolean {
  return LIVE.some(affects);
}

/** Whether a message of this gravity is to be shown as a notification. */
export function shows(setting: Notifications, gravity: "error" | "warning" | "info"): boolean {
  const threshold = { off: 3, onError: 2, onWarning: 1, always: 0 }[setting];
  return { error: 2, warning: 1, info: 0 }[gravity] >= threshold;
}

/** Replaces `${workspaceFolder}`, `${workspaceFolder:NAME}`, `${userHome}`, `${cwd}`, `${env:NAME}` and a leading `~`. */
export function substitute(value: string, variables: Variables): string {
  const replaced = value.replace(/\$\{(workspaceFolder|userHome|cwd|env:([^}]+)|workspaceFolder:([^}]+))\}/g, (whole, word, env, name) => {
    if (word === "userHome") return variables.home;
    if (word === "cwd") return variables.cwd;
    if (env !== undefined) return variables.env[env] ?? "";
    if (name !== undefined) return variables.folders.find((folder) => folder.name === name)?.path ?? whole;
    return variables.folder ?? whole;
  });
  return replaced === "~" || /^~[/\\]/.test(replaced) ? variables.home + replaced.slice(1) : replaced;
}

function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

/** The value if it is one of `allowed`, else the first of them, which is the default. */
function oneOf<T extends string>(value: unknown, allowed: readonly [T, ...T[]]): T {
  return allowed.includes(value as T) ? (value as T) : allowed[0];
}

function positive(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : null;
}
