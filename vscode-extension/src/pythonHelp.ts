// The message that the model's Python has no usable torch, with buttons for what helps (`pythonProblem.ts`).

import * as vscode from "vscode";
import { findInterpreter, type Host } from "./launch";
import { hasPythonExtension, isMadeByUv } from "./python";
import { helpWith, type Help } from "./pythonProblem";
import { shows, type Settings } from "./settings";

/** Shows the message and carries out what the user chooses. `folder` is the one that the message is about. */
export async function helpWithPython(
  message: string, folder: vscode.WorkspaceFolder | undefined, settings: Settings, host: Host, log: vscode.LogOutputChannel,
): Promise<void> {
  log.warn(message);
  if (!shows(settings.showNotifications, "error")) return;
  const python = (await findInterpreter(settings, vscode.workspace.isTrusted, host, folder?.uri.fsPath))?.path;
  const helps = await helpWith(python, folder?.uri.fsPath, host, hasPythonExtension(), python !== undefined && isMadeByUv(python));
  const title = await vscode.window.showErrorMessage(`GraphMend: ${message}`, ...helps.map((help) => help.title));
  const help = helps.find((candidate) => candidate.title === title);
  if (help !== undefined) await carryOut(help, folder);
}

async function carryOut(help: Help, folder: vscode.WorkspaceFolder | undefined): Promise<void> {
  if (help.kind === "select") {
    await vscode.commands.executeCommand("python.setInterpreter");
  } else if (help.kind === "install") {
    const terminal = vscode.window.createTerminal({ name: "GraphMend: install torch", ...(folder && { cwd: folder.uri }) });
    terminal.show();
    terminal.sendText(help.command, false); // the user presses Enter: it downloads gigabytes
  } else {
    const python = help.kind === "use" ? help.python : await choosePython(folder);
    if (python === undefined) return;
    const target = folder === undefined ? vscode.ConfigurationTarget.Global : vscode.ConfigurationTarget.WorkspaceFolder;
    await vscode.workspace.getConfiguration("graphmend", folder?.uri).update("interpreter", [python], target);
  }
}

/** An interpreter that the user picks among the files. */
async function choosePython(folder: vscode.WorkspaceFolder | undefined): Promise<string | undefined> {
  const title = "The Python of your model";
  const chosen = await vscode.window.showOpenDialog({ title, openLabel: "Use this Python", ...(folder && { defaultUri: folder.uri }) });
  return chosen?.[0]?.fsPath;
}
