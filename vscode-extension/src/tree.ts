// The view "Graph Breaks" in the explorer. What it shows are the server's diagnostics, of open files and others.

import * as vscode from "vscode";
import { treeOf, type BreakNode, type FileNode, type Shown } from "./treeData";

type Node = FileNode | BreakNode;

/** Changes that come together are one. */
const TOGETHER_MS = 200;
const ICONS = ["error", "warning", "info", "lightbulb"] as const;

export class BreakTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly parts: readonly vscode.Disposable[];
  private files: readonly FileNode[] = [];
  private waiting: NodeJS.Timeout | undefined;
  readonly onDidChangeTreeData = this.changed.event;

  constructor() {
    const view = vscode.window.createTreeView<Node>("graphmend.breaks", { treeDataProvider: this, showCollapseAll: true });
    this.parts = [view, vscode.languages.onDidChangeDiagnostics(() => this.refreshSoon()), this.changed];
  }

  dispose(): void {
    clearTimeout(this.waiting);
    for (const part of this.parts) part.dispose();
  }

  getChildren(node?: Node): Node[] {
    return [...(node === undefined ? this.files : "breaks" in node ? node.breaks : [])];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if ("breaks" in node) {
      const item = new vscode.TreeItem(node.name, vscode.TreeItemCollapsibleState.Expanded);
      item.resourceUri = vscode.Uri.file(node.file);
      item.description = node.words;
      item.iconPath = vscode.ThemeIcon.File;
      return item;
    }
    const item = new vscode.TreeItem(node.label);
    item.description = node.code;
    item.tooltip = node.message;
    item.iconPath = new vscode.ThemeIcon(ICONS[node.severity] ?? "info");
    const selection = new vscode.Range(node.line, node.column, node.line, node.column);
    item.command = { title: "Go to Graph Break", command: "vscode.open", arguments: [vscode.Uri.file(node.file), { selection }] };
    return item;
  }

  private refreshSoon(): void {
    this.waiting ??= setTimeout(() => {
      this.waiting = undefined;
      this.refresh();
    }, TOGETHER_MS);
  }

  private refresh(): void {
    this.files = treeOf(vscode.languages.getDiagnostics().flatMap(([uri, all]) => (uri.scheme === "file" ? all.flatMap((one) => shownOf(uri, one)) : [])));
    void vscode.commands.executeCommand("setContext", "graphmend.hasBreaks", this.files.length > 0);
    this.changed.fire();
  }
}

function shownOf(uri: vscode.Uri, diagnostic: vscode.Diagnostic): Shown[] {
  if (diagnostic.source !== "graphmend") return [];
  const { code, message, severity, range } = diagnostic;
  const told = typeof code === "object" ? code.value : (code ?? "");
  return [{ file: uri.fsPath, line: range.start.line, column: range.start.character, code: String(told), message, severity }];
}
