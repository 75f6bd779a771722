// GraphMend for VS Code: finds and starts graphmend-lsp, shows its state, and offers its commands.

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { ExecuteCommandRequest, type LanguageClient, LSPErrorCodes, ResponseError, WorkDoneProgress } from "vscode-languageclient/node";
import { startClient, stopClient, tellSettings } from "./client";
import { bundledServer, createEnvironment } from "./environment";
import { MapPanel } from "./map";
import type { GraphMap } from "../map/shape";
import { findInterpreter, findRecentPython, findServer, startsAlike, type Host, type Launch, type Missing, type Remedy } from "./launch";
import { activePython, hasPythonExtension, isProgram, onActivePythonChange, probe, which } from "./python";
import { helpWithPython } from "./pythonHelp";
import type { PythonProblem } from "./pythonProblem";
import { MOST_RESTARTS, Restarts } from "./restarts";
import { needsRestart, needsTelling, readSettings, serverSettings, shows, type Settings } from "./settings";
import { StatusItem, Workers } from "./status";
import { BreakTree } from "./tree";
import { commonFolder, readPair, type FolderPair, type TraceResult } from "./traces";

/** Restarts asked for within this time are one. */
const TOGETHER_MS = 100;
/** Commands of the server that run the model many times. */
const LONG: ReadonlySet<string> = new Set(["graphmend.mendAll", "graphmend.measure"]);

let extension: Extension | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  extension = new Extension(context);
  await extension.start();
}

export async function deactivate(): Promise<void> {
  await extension?.stop();
  extension = undefined;
}

/** What is alive while the extension is: channels, the status item, and at most one server. */
class Extension {
  private readonly log: vscode.LogOutputChannel;
  private readonly serverLog: vscode.LogOutputChannel;
  private readonly status: StatusItem;
  private readonly workers = new Workers((uri) => vscode.Uri.parse(uri).fsPath);
  private readonly restarts = new Restarts();
  private readonly map: MapPanel;
  private readonly host: Host;
  private client: LanguageClient | undefined;
  private launch: Launch | Missing | undefined;
  private queue: Promise<void> = Promise.resolve();
  private asked: Promise<void> | undefined;
  private commands = 0;
  private creating: "not yet" | "now" | "ended" = "not yet";

  constructor(private readonly context: vscode.ExtensionContext) {
    this.log = vscode.window.createOutputChannel("GraphMend", { log: true });
    this.serverLog = vscode.window.createOutputChannel("GraphMend Language Server", { log: true });
    const item = vscode.languages.createLanguageStatusItem("graphmend.status", { language: "python" });
    this.status = new StatusItem(item, {
      information: vscode.LanguageStatusSeverity.Information,
      warning: vscode.LanguageStatusSeverity.Warning,
      error: vscode.LanguageStatusSeverity.Error,
    });
    this.host = {
      platform: process.platform,
      exists: (file) => existsSync(file) && isProgram(file),
      which,
      probe: (python) => probe(python, context.extensionPath),
      activePython: (folder) => activePython(this.log, folder),
      managed: path.join(context.globalStorageUri.fsPath, "environment"),
      folders: () => (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
      env: process.env,
    };
    this.map = new MapPanel(context.extensionPath, (uri) => this.mapOf(uri), this.log);
    const command = (name: string, run: (...args: unknown[]) => unknown): vscode.Disposable =>
      vscode.commands.registerCommand(`graphmend.${name}`, run);
    context.subscriptions.push(
      this.log,
      this.serverLog,
      item,
      this.map,
      new BreakTree(),
      command("restart", () => this.restart()),
      command("showLogs", () => this.log.show()),
      command("showServerLogs", () => this.serverLog.show()),
      command("runNow", (...args) => this.passOn("graphmend.runNow", args)),
      command("mendAll", (...args) => this.passOn("graphmend.mendAll", args)),
      command("measure", (...args) => this.passOn("graphmend.measure", args)),
      command("graphMap", (uri) => this.showMap(uri)),
      command("readTrace", (folder) => this.readTrace(folder)),
      command("createEnvironment", () => this.createEnvironment()),
      command("debugInformation", () => this.debugInformation()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.restart()),
      vscode.window.onDidChangeActiveTextEditor(() => {
        if (this.status.state.kind === "running") this.showWorker();
      }),
      vscode.workspace.onDidChangeConfiguration((change) => this.configurationChanged(change)),
    );
    void this.followPythonExtension();
  }

  /**
   * Starts the server anew. Calls wait for one another, so there is never more than one server; those that come together
   * are one (trust that is given changes settings too).
   */
  restart(): Promise<void> {
    this.restarts.forget();
    this.asked ??= new Promise<void>((resolve) => setTimeout(resolve, TOGETHER_MS)).then(() => {
      this.asked = undefined;
      this.queue = this.queue.then(() => this.stopNow()).then(() => this.startNow());
      return this.queue;
    });
    return this.asked;
  }

  start(): Promise<void> {
    this.queue = this.queue.then(() => this.startNow());
    return this.queue;
  }

  stop(): Promise<void> {
    this.queue = this.queue.then(() => this.stopNow());
    return this.queue;
  }

  private async stopNow(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.workers.forget();
    if (client !== undefined) await stopClient(client);
  }

  private async startNow(): Promise<void> {
    const settings = this.settings();
    if (!(vscode.workspace.workspaceFolders ?? [undefined]).some((folder) => this.settings(folder).enable)) {
      this.status.show({ kind: "off", why: "graphmend.enable is off" });
      return;
    }
    this.status.show({ kind: "starting" });
    const trusted = vscode.workspace.isTrusted;
    const launch = await findServer(settings, trusted, this.host);
    this.launch = launch;
    if (launch.kind === "missing") {
      if (trusted && launch.remedies.includes("createEnvironment") && this.creating !== "ended") this.createQuietly(launch.message);
      else this.fail(launch.message, launch.remedies);
      return;
    }
    this.log.info(`Starting ${[launch.command, ...launch.args].join(" ")} (found by ${launch.how}${trusted ? "" : "; Restricted Mode"})`);
    try {
      this.client = await startClient({
        launch,
        trusted,
        cwd: this.context.extensionPath,
        settings: () => serverSettings(this.settings(), this.launch?.python),
        settingsAt: (resource) => this.settingsAt(resource, this.launch?.python),
        log: this.log,
        serverLog: this.serverLog,
        onStatus: (worker) => {
          this.workers.take(worker);
          this.showWorker();
        },
        onProblem: (problem) => void this.helpWithPython(problem),
        onMap: () => void this.map.changed(),
        onEnd: () => this.ended(),
      });
      if (this.status.state.kind === "starting") {
        this.showWorker();
      }
    } catch (error) {
      this.fail(`${launch.command} did not start: ${error instanceof Error ? error.message : String(error)}`, ["createEnvironment", "settings"]);
    }
  }

  /** The server ended by itself: it is started again, unless that happens too often. */
  private ended(): void {
    const again = this.restarts.again(Date.now());
    if (again) this.log.warn("The server ended unexpectedly. The extension starts it again.");
    else this.fail(`The server ended ${MOST_RESTARTS + 1} times in 3 minutes. The extension does not start it again.`, []);
    this.queue = this.queue.then(() => this.stopNow()).then(() => (again ? this.startNow() : undefined));
  }

  /** Logs a failure, puts it in the status item, and shows it with buttons for what helps. */
  private fail(message: string, remedies: readonly Remedy[]): void {
    this.log.error(message);
    this.status.show({ kind: "failed", message });
    if (!shows(this.settings().showNotifications, "error")) return;
    const buttons = [...remedies.filter((remedy) => remedy !== "selectInterpreter" || hasPythonExtension()).map((remedy) => BUTTONS[remedy])];
    if (remedies.length === 0) buttons.push({ title: "Restart", command: "graphmend.restart" });
    buttons.push({ title: "Show Logs", command: message.includes("server ended") ? "graphmend.showServerLogs" : "graphmend.showLogs" });
    void vscode.window.showErrorMessage(`GraphMend: ${message}`, ...buttons.map((button) => button.title)).then((chosen) => {
      const button = buttons.find((candidate) => candidate.title === chosen);
      if (button !== undefined) void vscode.commands.executeCommand(button.command, ...(button.args ?? []));
    });
  }

  private helpWithPython(problem: PythonProblem): Promise<void> {
    const folder = problem.folder === null ? undefined : vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(problem.folder));
    return helpWithPython(problem.message, folder ?? vscode.workspace.workspaceFolders?.[0], this.settings(folder), this.host, this.log);
  }

  /** Puts the worker of the active file's workspace folder into the status item. */
  private showWorker(): void {
    const active = vscode.window.activeTextEditor?.document.uri;
    const folder = active === undefined ? undefined : vscode.workspace.getWorkspaceFolder(active);
    const worker = this.workers.of((folder ?? vscode.workspace.workspaceFolders?.[0])?.uri.fsPath);
    this.status.show(vscode.workspace.isTrusted ? { kind: "running", worker } : { kind: "restricted" });
  }

  /** The settings of a workspace folder, the first when none is given. */
  private settings(folder: vscode.WorkspaceFolder | undefined = vscode.workspace.workspaceFolders?.[0]): Settings {
    const configuration = vscode.workspace.getConfiguration("graphmend", folder?.uri);
    return readSettings((key) => configuration.get(key), {
      home: homedir(),
      cwd: process.cwd(),
      folder: folder?.uri.fsPath,
      folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => ({ name: folder.name, path: folder.uri.fsPath })),
      env: process.env,
    });
  }

  /** The settings of the workspace folder that a resource is in, as the server reads them. */
  private async settingsAt(resource: vscode.Uri, otherwise: string | undefined): Promise<Record<string, unknown>> {
    const folder = vscode.workspace.getWorkspaceFolder(resource);
    const settings = this.settings(folder);
    const found = folder && (await findInterpreter(settings, vscode.workspace.isTrusted, this.host, folder.uri.fsPath));
    return serverSettings(settings, found?.path ?? otherwise);
  }

  /**
   * Settings changed that decide which server runs, perhaps only because a folder came or went. The same server stays and is
   * told them: it ends the workers that they are about.
   */
  private async reconsider(): Promise<void> {
    await this.queue;
    const [client, before] = [this.client, this.launch];
    const enabled = (vscode.workspace.workspaceFolders ?? [undefined]).some((folder) => this.settings(folder).enable);
    if (client === undefined || before?.kind !== "found" || !enabled) return this.restart();
    const launch = await findServer(this.settings(), vscode.workspace.isTrusted, this.host);
    if (this.client !== client) return; // started anew meanwhile
    if (launch.kind !== "found" || !startsAlike(launch, before)) return this.restart();
    this.launch = launch;
    await tellSettings(client, serverSettings(this.settings(), launch.python));
  }

  private async configurationChanged(change: vscode.ConfigurationChangeEvent): Promise<void> {
    const affects = (key: string): boolean => change.affectsConfiguration(`graphmend.${key}`);
    if (needsRestart(affects)) await this.reconsider();
    else if (needsTelling(affects) && this.client !== undefined && this.launch?.kind === "found") {
      await tellSettings(this.client, serverSettings(this.settings(), this.launch.python));
    }
  }

  private async followPythonExtension(): Promise<void> {
    const subscription = await onActivePythonChange(this.log, () => {
      const folders = vscode.workspace.workspaceFolders ?? [undefined];
      if (folders.some((folder) => this.settings(folder).interpreter.length === 0)) void this.reconsider();
    });
    if (subscription !== undefined) this.context.subscriptions.push(subscription);
  }

  /** Runs a command of the server; from the command palette, on the active file. */
  private async passOn(command: string, args: readonly unknown[]): Promise<void> {
    if (this.client === undefined) {
      this.fail(this.status.state.kind === "failed" ? this.status.state.message : "The server is not running.", []);
      return;
    }
    const document = activeDocument();
    if (args.length === 0 && document?.languageId !== "python") {
      void vscode.window.showInformationMessage("GraphMend: open a Python file first.");
      return;
    }
    try {
      const target = args.length > 0 || document === undefined ? args : [this.client.code2ProtocolConverter.asUri(document.uri)];
      if (LONG.has(command)) await this.withProgress(this.client, command, target);
      else await this.client.sendRequest(ExecuteCommandRequest.type, { command, arguments: [...target] });
    } catch (error) {
      if (error instanceof ResponseError && error.code === LSPErrorCodes.RequestCancelled) return; // the user did
      const message = error instanceof Error ? error.message : String(error);
      this.log.error(`${command}: ${message}`);
      if (shows(this.settings().showNotifications, "error")) void vscode.window.showErrorMessage(`GraphMend: ${message}`);
    }
  }

  /** Shows the graph map of a document: of the one named, or of the active file. */
  private async showMap(given: unknown): Promise<void> {
    const document = activeDocument();
    const uri = given instanceof vscode.Uri ? given : typeof given === "string" ? vscode.Uri.parse(given) : undefined;
    if (uri === undefined && document?.languageId !== "python") {
      void vscode.window.showInformationMessage("GraphMend: open a Python file first.");
      return;
    }
    if (this.client === undefined) {
      this.fail(this.status.state.kind === "failed" ? this.status.state.message : "The server is not running.", []);
      return;
    }
    const target = uri ?? document?.uri;
    if (target !== undefined) await this.map.show(target);
  }

  /** The server's data for the graph map; undefined when it has none for this document. */
  private async mapOf(uri: vscode.Uri): Promise<GraphMap | undefined> {
    const client = this.client;
    if (client === undefined) return undefined;
    const named = client.code2ProtocolConverter.asUri(uri);
    try {
      return await client.sendRequest(ExecuteCommandRequest.type, { command: "graphmend.mapData", arguments: [named] });
    } catch (error) {
      this.log.warn(`graphmend.mapData: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }

  /** A command that takes long: a notification says how far it is, and cancels it. */
  private async withProgress(client: LanguageClient, command: string, target: readonly unknown[]): Promise<void> {
    const workDoneToken = `${command}-${++this.commands}`;
    const options = { location: vscode.ProgressLocation.Notification, title: "GraphMend", cancellable: true };
    await vscode.window.withProgress(options, async (progress, cancellation) => {
      const listener = client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
        if (value.kind !== "end") progress.report({ message: value.message ?? (value.kind === "begin" ? value.title : "") });
      });
      try {
        await client.sendRequest(ExecuteCommandRequest.type, { command, arguments: [...target], workDoneToken }, cancellation);
      } finally {
        listener.dispose();
      }
    });
  }

  /** Has the server read a TORCH_TRACE folder, the one given or one that is chosen; asks where its files are here. */
  private async readTrace(given: unknown): Promise<void> {
    const chosen = given instanceof vscode.Uri ? given : await chooseTrace();
    const client = this.client;
    if (chosen === undefined) return;
    if (client === undefined) {
      this.fail(this.status.state.kind === "failed" ? this.status.state.message : "The server is not running.", []);
      return;
    }
    const read = (map: readonly FolderPair[]): Promise<TraceResult> =>
      client.sendRequest(ExecuteCommandRequest.type, {
        command: "graphmend.readTrace",
        arguments: [{ folder: client.code2ProtocolConverter.asUri(chosen), map }],
      });
    try {
      const first = await read([]);
      const pair = first.missing.length > 0 ? await askForFolder(first.missing) : undefined;
      if (pair !== undefined) await read([pair]);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.log.error(`graphmend.readTrace: ${message}`);
      if (shows(this.settings().showNotifications, "error")) void vscode.window.showErrorMessage(`GraphMend: ${message}`);
    }
  }

  /** Makes the server's environment once, without a question, and starts the server in it. */
  private createQuietly(why: string): void {
    this.status.show({ kind: "starting", why: "installing the language server" });
    if (this.creating === "now") return;
    this.creating = "now";
    this.log.info(`${why} The extension creates an environment for the server.`);
    void this.newEnvironment(vscode.ProgressLocation.Window).then((made) => {
      this.creating = "ended";
      if (made) void this.restart();
    });
  }

  private async createEnvironment(): Promise<void> {
    if (this.creating === "now") return;
    if (await this.newEnvironment(vscode.ProgressLocation.Notification)) await this.restart();
  }

  /** Makes the managed environment anew; says why when that fails. */
  private async newEnvironment(location: vscode.ProgressLocation): Promise<boolean> {
    const settings = this.settings();
    const python = await findRecentPython(settings, vscode.workspace.isTrusted, this.host);
    if (python instanceof Error) {
      this.fail(`The language server needs Python 3.10 or newer: ${python.message}.`, ["selectInterpreter", "settings"]);
      return false;
    }
    const source = settings.environmentSource || bundledServer(this.context.extensionPath);
    if (source === undefined) {
      this.fail("This build has no graphmend-lsp to install. Set graphmend.environment.source.", ["settings"]);
      return false;
    }
    await this.stop();
    const recipe = { python, folder: this.host.managed, source, cwd: this.context.extensionPath, log: this.log, location };
    try {
      await createEnvironment(recipe);
      return true;
    } catch (error) {
      if (error instanceof vscode.CancellationError) this.log.info("You cancelled the new environment.");
      else this.fail(`The extension could not create the environment: ${error instanceof Error ? error.message : String(error)}`, ["createEnvironment"]);
      return false;
    }
  }

  private async debugInformation(): Promise<void> {
    const information = {
      extension: this.context.extension.packageJSON.version as string,
      vscode: vscode.version,
      platform: `${process.platform} ${process.arch}`,
      trusted: vscode.workspace.isTrusted,
      launch: this.launch,
      server: this.client?.initializeResult?.serverInfo,
      state: this.status.state,
      settings: this.settings(),
    };
    const document = await vscode.workspace.openTextDocument({ language: "json", content: JSON.stringify(information, undefined, 2) });
    await vscode.window.showTextDocument(document);
  }
}

interface Button {
  readonly title: string;
  readonly command: string;
  readonly args?: readonly unknown[];
}

const BUTTONS: Readonly<Record<Remedy, Button>> = {
  createEnvironment: { title: "Create Environment", command: "graphmend.createEnvironment" },
  selectInterpreter: { title: "Select Interpreter", command: "python.setInterpreter" },
  settings: { title: "Open Settings", command: "workbench.action.openSettings", args: ["@ext:graphmend.graphmend"] },
};

async function chooseTrace(): Promise<vscode.Uri | undefined> {
  const chosen = await vscode.window.showOpenDialog({
    canSelectFiles: false,
    canSelectFolders: true,
    title: "A folder that TORCH_TRACE named when the program ran",
    openLabel: "Read Trace",
  });
  return chosen?.[0];
}

/** Where the files of a trace from another machine are here; nothing when that is not told. */
async function askForFolder(missing: readonly string[]): Promise<FolderPair | undefined> {
  const here = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  const written = await vscode.window.showInputBox({
    title: "The trace names files that are missing here",
    prompt: `${missing[0] ?? ""}: which folder here is which folder there, as HERE=THERE`,
    value: `${here}=${commonFolder(missing)}`,
    ignoreFocusOut: true,
    validateInput: (text) => (readPair(text) === undefined ? "Write two absolute folders as HERE=THERE." : undefined),
  });
  return written === undefined ? undefined : readPair(written);
}

/** The document that a command without an argument is about; of a notebook any of its Python cells, which stands for all. */
function activeDocument(): vscode.TextDocument | undefined {
  const cells = vscode.window.activeNotebookEditor?.notebook.getCells() ?? [];
  const cell = cells.find((one) => one.kind === vscode.NotebookCellKind.Code && one.document.languageId === "python");
  return cell?.document ?? vscode.window.activeTextEditor?.document;
}
