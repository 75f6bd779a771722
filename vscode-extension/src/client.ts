// The language client: one server process, started, watched, restarted and stopped. Nothing of finding it belongs here.

import * as vscode from "vscode";
import {
  CloseAction, DidChangeConfigurationNotification, ErrorAction, ExecuteCommandRequest, LanguageClient, RevealOutputChannelOn,
  State, WillSaveTextDocumentNotification,
  type DynamicFeature, type ExecuteCommandRegistrationOptions, type Executable, type LanguageClientOptions, type StaticFeature,
} from "vscode-languageclient/node";
import type { Launch } from "./launch";
import type { PythonProblem } from "./pythonProblem";
import type { WorkerStatus } from "./status";

export const STATUS_NOTIFICATION = "graphmend/status";
export const PROBLEM_NOTIFICATION = "graphmend/pythonProblem";
export const MAP_NOTIFICATION = "graphmend/mapChanged";

/** How long a server may take to end before it is killed. */
const STOP_MS = 3_000;

export interface Wiring {
  readonly launch: Launch;
  readonly trusted: boolean;
  /** A folder outside every workspace: the server's working folder, from which Python may import. */
  readonly cwd: string;
  /** The settings as the server reads them, as they are now. */
  readonly settings: () => Record<string, unknown>;
  /** Those of the workspace folder that a resource is in, with the interpreter found for it. */
  readonly settingsAt: (resource: vscode.Uri) => Promise<Record<string, unknown>>;
  readonly log: vscode.LogOutputChannel;
  readonly serverLog: vscode.LogOutputChannel;
  readonly onStatus: (status: WorkerStatus) => void;
  /** The model's Python has no usable torch, or does not start. */
  readonly onProblem: (problem: PythonProblem) => void;
  /** What the graph map shows is another. */
  readonly onMap: () => void;
  /** The server that was running ended by itself. */
  readonly onEnd: () => void;
}

/** Starts the server and waits until it has answered `initialize`. Rejects, with no process left, when it does not. */
export async function startClient(wiring: Wiring): Promise<LanguageClient> {
  const server: Executable = {
    command: wiring.launch.command,
    args: [...wiring.launch.args],
    options: { cwd: wiring.cwd },
  };
  let running = false;
  const ended = (): void => {
    if (running) wiring.onEnd();
  };
  const client = new Client("graphmend", "GraphMend", { run: server, debug: server }, options(wiring, ended));
  client.onNotification(STATUS_NOTIFICATION, (status: WorkerStatus) => wiring.onStatus(status));
  client.onNotification(PROBLEM_NOTIFICATION, (problem: PythonProblem) => wiring.onProblem(problem));
  client.onNotification(MAP_NOTIFICATION, () => wiring.onMap());
  try {
    await client.start();
    running = true;
    announceNotebookSaves(client);
  } catch (error) {
    await stopClient(client);
    throw error;
  }
  return client;
}

/** Says of a notebook why it is about to be saved, as the library does of documents; the protocol has no message for that. */
function announceNotebookSaves(client: LanguageClient): void {
  const saves = vscode.workspace.onWillSaveNotebookDocument(({ notebook, reason }) => {
    const textDocument = { uri: client.code2ProtocolConverter.asUri(notebook.uri) };
    void client.sendNotification(WillSaveTextDocumentNotification.type, { textDocument, reason });
  });
  client.onDidChangeState(({ newState }) => {
    if (newState === State.Stopped) saves.dispose();
  });
}

/** Ends the server; never rejects. */
export async function stopClient(client: LanguageClient): Promise<void> {
  try {
    await client.dispose(STOP_MS);
  } catch {
    // A server that has already ended cannot be asked to.
  }
}

/** Tells a running server the settings as they are now. */
export async function tellSettings(client: LanguageClient, settings: Record<string, unknown>): Promise<void> {
  await client.sendNotification(DidChangeConfigurationNotification.type, { settings: { graphmend: settings } });
}

function options(wiring: Wiring, ended: () => void): LanguageClientOptions {
  return {
    documentSelector: [
      ...["file", "untitled"].map((scheme) => ({ scheme, language: "python" })),
      { notebook: "jupyter-notebook", language: "python" }, // cells; the server is told of them as parts of their notebook
    ],
    outputChannel: wiring.serverLog,
    traceOutputChannel: wiring.serverLog,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: () => ({ trusted: wiring.trusted, graphMap: true, pythonProblem: true, settings: wiring.settings() }),
    initializationFailedHandler: () => false,
    markdown: { isTrusted: false, supportHtml: false },
    middleware: {
      workspace: {
        configuration: (params) =>
          Promise.all(params.items.map(async (item) => section(await settingsOf(wiring, item.scopeUri), item.section))),
        didChangeConfiguration: async () => {
          // The extension tells changed settings itself, with the interpreter that it found.
        },
      },
    },
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        ended();
        return { action: CloseAction.DoNotRestart, handled: true }; // a new client is more reliable than a revived one
      },
    },
  };
}

/** What the server is told of one scope: a workspace folder's own settings, or those of the whole. */
async function settingsOf(wiring: Wiring, scope: string | undefined): Promise<Record<string, unknown>> {
  return scope === undefined || scope === "" ? wiring.settings() : wiring.settingsAt(vscode.Uri.parse(scope));
}

/** The part of the settings that `workspace/configuration` asks for: `graphmend`, `graphmend.worker`, ... */
export function section(settings: Record<string, unknown>, name: string | undefined): unknown {
  const [root, ...keys] = (name ?? "graphmend").split(".");
  if (root !== "graphmend") return null;
  let value: unknown = settings;
  for (const key of keys) value = (value as Record<string, unknown> | undefined)?.[key];
  return value ?? null;
}

/** A language client that leaves alone the commands which the extension registers itself and passes on. */
class Client extends LanguageClient {
  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    if ("registrationType" in feature && feature.registrationType.method === ExecuteCommandRequest.method) {
      const commands = feature as DynamicFeature<ExecuteCommandRegistrationOptions>;
      const register = commands.register.bind(commands);
      commands.register = (data) => {
        const others = data.registerOptions.commands.filter((command) => !OWN_COMMANDS.has(command));
        register({ ...data, registerOptions: { ...data.registerOptions, commands: others } });
      };
    }
    super.registerFeature(feature);
  }
}

/** The commands of the extension; those that the server has too are passed on to it. */
export const OWN_COMMANDS: ReadonlySet<string> = new Set([
  "graphmend.restart", "graphmend.showLogs", "graphmend.showServerLogs", "graphmend.runNow", "graphmend.mendAll",
  "graphmend.measure", "graphmend.readTrace", "graphmend.createEnvironment", "graphmend.debugInformation", "graphmend.graphMap",
  "graphmend.mapData",
]);
