// What the language status item shows. The words are pure (`describe`); `StatusItem` puts them on screen.

import type * as vscode from "vscode";

/** The server's notification `graphmend/status`. */
export interface WorkerStatus {
  readonly state: "stopped" | "starting" | "ready" | "busy" | "failed";
  readonly torch: string | null;
  readonly python: string | null;
  readonly device: string | null;
  readonly message: string;
  /** The URI of the workspace folder that it is about; null for what is in none. Absent from older servers. */
  readonly folder?: string | null;
}

/** The workers of all workspace folders, by the folder's path. */
export class Workers {
  private readonly known = new Map<string, WorkerStatus>();

  /** `pathOf` makes a URI a path, as VS Code has it. */
  constructor(private readonly pathOf: (uri: string) => string) {}

  take(status: WorkerStatus): void {
    this.known.set(this.key(status), status);
  }

  /** What is to be shown for a file of this folder: its own worker's state, else that of what is in no folder. */
  of(folder: string | undefined): WorkerStatus | undefined {
    return this.known.get(folder ?? "") ?? this.known.get("");
  }

  /** The server is another one, or gone. */
  forget(): void {
    this.known.clear();
  }

  private key(status: WorkerStatus): string {
    return status.folder === null || status.folder === undefined ? "" : this.pathOf(status.folder);
  }
}

/** The state of the server as the extension knows it. */
export type State =
  | { readonly kind: "off"; readonly why: string }
  | { readonly kind: "starting"; readonly why?: string }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "restricted" }
  | { readonly kind: "running"; readonly worker: WorkerStatus | undefined };

export interface Shown {
  readonly text: string;
  readonly detail: string;
  readonly gravity: "information" | "warning" | "error";
  readonly busy: boolean;
  readonly action: { readonly title: string; readonly command: string };
}

const LOGS = { title: "Show Logs", command: "graphmend.showLogs" };
const RESTART = { title: "Restart", command: "graphmend.restart" };
const TRUST = { title: "Manage Trust", command: "workbench.trust.manage" };

/** The words for a state. */
export function describe(state: State): Shown {
  const plain = { gravity: "information", busy: false, action: LOGS } as const;
  switch (state.kind) {
    case "off":
      return { ...plain, text: "GraphMend: off", detail: state.why };
    case "starting":
      return { ...plain, text: "GraphMend: starting", detail: state.why ?? "", busy: true };
    case "failed":
      return { ...plain, text: "GraphMend: not running", detail: state.message, gravity: "error", action: RESTART };
    case "restricted":
      return { ...plain, text: "GraphMend: source only", detail: "nothing is run in Restricted Mode", action: TRUST };
    case "running":
      return worker(state.worker);
  }
}

function worker(status: WorkerStatus | undefined): Shown {
  const plain = { gravity: "information", busy: false, action: LOGS } as const;
  if (status === undefined || status.state === "stopped") {
    return { ...plain, text: "GraphMend", detail: status?.message || "save the file to compile it" };
  }
  const torch = status.torch === null ? "GraphMend" : `torch ${status.torch}`;
  const text = status.device === null ? torch : `${torch} on ${status.device}`;
  const detail = status.message || (status.python === null ? "" : `Python ${status.python}`);
  if (status.state === "failed") {
    return { ...plain, text: "GraphMend: cannot run the model", detail: status.message, gravity: "error", action: RESTART };
  }
  return { ...plain, text, detail, busy: status.state !== "ready" };
}

/** Puts a state into the language status item. */
export class StatusItem {
  private current: State = { kind: "starting" };

  constructor(
    private readonly item: vscode.LanguageStatusItem,
    private readonly severities: { readonly information: number; readonly warning: number; readonly error: number },
  ) {
    item.name = "GraphMend";
    this.show(this.current);
  }

  get state(): State {
    return this.current;
  }

  show(state: State): void {
    this.current = state;
    const shown = describe(state);
    this.item.text = shown.text;
    this.item.detail = shown.detail;
    this.item.severity = this.severities[shown.gravity];
    this.item.busy = shown.busy;
    this.item.command = shown.action;
  }
}
