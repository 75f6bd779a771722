// The graph map in a panel beside the editor: the server's data, drawn by the same script as the pages of the command line.

import { readFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import * as path from "node:path";
import * as vscode from "vscode";
import type { GraphMap } from "../map/shape";
import { cellOf, mapPage, readRequest, utf16Column, type OpenRequest } from "./mapPage";

/** Asks the server for the map of a document. */
export type Ask = (uri: vscode.Uri) => Promise<GraphMap | undefined>;

/** At most one panel; it shows the map of one document until it is asked for another's. */
export class MapPanel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private document: vscode.Uri | undefined;
  private shown: GraphMap | undefined;

  constructor(
    private readonly extension: string,
    private readonly ask: Ask,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  dispose(): void {
    this.panel?.dispose();
  }

  /** Shows the map of a document; says so when none of its entries has run. */
  async show(document: vscode.Uri): Promise<void> {
    const map = await this.ask(document);
    if (map === undefined) return;
    if (map.programs.length === 0) {
      const run = "Find Graph Breaks Now";
      const words = "GraphMend: no entry of this file has run yet, so there are no graphs to show.";
      if ((await vscode.window.showInformationMessage(words, run)) === run) {
        await vscode.commands.executeCommand("graphmend.runNow", document.toString());
      }
      return;
    }
    this.document = document;
    this.shown = map;
    const panel = this.open();
    panel.title = `Graph map: ${path.basename(document.fsPath)}`;
    panel.reveal(undefined, true);
    await panel.webview.postMessage({ map });
  }

  /** What is known has changed: an open panel shows it. */
  async changed(): Promise<void> {
    if (this.panel === undefined || this.document === undefined) return;
    const map = await this.ask(this.document);
    if (map === undefined || map.programs.length === 0) return; // a new run is under way, or the document was closed
    this.shown = map;
    await this.panel?.webview.postMessage({ map });
  }

  private open(): vscode.WebviewPanel {
    if (this.panel !== undefined) return this.panel;
    const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel("graphmend.map", "Graph map", place, { enableScripts: true, localResourceRoots: [] });
    this.panel = panel;
    panel.iconPath = vscode.Uri.file(path.join(this.extension, "icon.png"));
    panel.webview.onDidReceiveMessage((message: unknown) => void this.received(message));
    panel.onDidDispose(() => (this.panel = this.document = this.shown = undefined));
    const built = (name: string): string => readFileSync(path.join(this.extension, "out", name), "utf8");
    panel.webview.html = mapPage(built("map.js"), built("map.css"), randomBytes(18).toString("base64"));
    return panel;
  }

  private async received(message: unknown): Promise<void> {
    const request = readRequest(message);
    if (request?.kind === "ready" && this.shown !== undefined) await this.panel?.webview.postMessage({ map: this.shown });
    if (request?.kind === "open") await this.goTo(request);
  }

  private async goTo(place: OpenRequest): Promise<void> {
    try {
      const cell = cellOf(place.path);
      if (cell !== undefined) {
        await goToCell(cell.file, cell.number);
        return;
      }
      const document = await vscode.workspace.openTextDocument(vscode.Uri.file(place.path));
      const line = Math.min(place.line, document.lineCount) - 1;
      const start = new vscode.Position(line, utf16Column(document.lineAt(line).text, place.column));
      const visible = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === document.uri.toString());
      const viewColumn = visible?.viewColumn ?? vscode.ViewColumn.One;
      await vscode.window.showTextDocument(document, { viewColumn, selection: new vscode.Range(start, start) });
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.log.warn(`graph map: ${place.path}: ${why}`);
      void vscode.window.showWarningMessage(`GraphMend: ${place.path} does not open: ${why}`);
    }
  }
}

/** Shows a Python cell of a notebook. The server counts those cells only. */
async function goToCell(file: string, number: number): Promise<void> {
  const notebook = await vscode.workspace.openNotebookDocument(vscode.Uri.file(file));
  const python = notebook.getCells().filter((cell) => cell.kind === vscode.NotebookCellKind.Code && cell.document.languageId === "python");
  const index = python[number - 1]?.index ?? 0;
  const visible = vscode.window.visibleNotebookEditors.find((editor) => editor.notebook === notebook);
  const viewColumn = visible?.viewColumn ?? vscode.ViewColumn.One;
  await vscode.window.showNotebookDocument(notebook, { viewColumn, selections: [new vscode.NotebookRange(index, index + 1)] });
}
