// Making the managed environment: a virtual environment of the extension's own with the language server in it.

import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { environmentPython } from "./launch";

export interface Recipe {
  /** The Python that makes the environment; 3.10 or newer. */
  readonly python: string;
  readonly folder: string;
  /** What pip installs. */
  readonly source: string;
  readonly cwd: string;
  readonly log: vscode.LogOutputChannel;
  /** Where the progress is shown; a notification can cancel it. */
  readonly location: vscode.ProgressLocation;
}

/** Makes the environment afresh. On failure no environment is left. */
export async function createEnvironment(recipe: Recipe): Promise<void> {
  const options = { location: recipe.location, title: "GraphMend: creating environment", cancellable: true };
  await vscode.window.withProgress(options, async (progress, cancelled) => {
    rmSync(recipe.folder, { recursive: true, force: true });
    mkdirSync(path.dirname(recipe.folder), { recursive: true });
    try {
      progress.report({ message: "virtual environment" });
      await execute(recipe, recipe.python, ["-m", "venv", recipe.folder], cancelled);
      progress.report({ message: "installing graphmend-lsp" });
      const python = environmentPython(recipe.folder, process.platform);
      await execute(recipe, python, ["-m", "pip", "install", "--disable-pip-version-check", recipe.source], cancelled);
    } catch (error) {
      rmSync(recipe.folder, { recursive: true, force: true });
      throw error;
    }
  });
}

/** The server that came with the extension, as pip takes it; undefined when this build has none. */
export function bundledServer(extensionPath: string): string | undefined {
  const folder = path.join(extensionPath, "bundled");
  try {
    const wheel = readdirSync(folder).find((name) => name.startsWith("graphmend_lsp-") && name.endsWith(".whl"));
    return wheel === undefined ? undefined : path.join(folder, wheel);
  } catch {
    return undefined;
  }
}

function execute(recipe: Recipe, command: string, args: readonly string[], cancelled: vscode.CancellationToken): Promise<void> {
  return new Promise((resolve, reject) => {
    recipe.log.info(`$ ${[command, ...args].join(" ")}`);
    const child = spawn(command, args, { cwd: recipe.cwd, stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
    const stop = cancelled.onCancellationRequested(() => child.kill());
    let last = "";
    const tell = (data: Buffer): void => {
      for (const line of data.toString().split("\n").filter((part) => part.trim() !== "")) {
        recipe.log.info(line);
        last = line;
      }
    };
    child.stdout.on("data", tell);
    child.stderr.on("data", tell);
    child.on("error", reject);
    child.on("close", (code) => {
      stop.dispose();
      if (cancelled.isCancellationRequested) reject(new vscode.CancellationError());
      else if (code === 0) resolve();
      else reject(new Error(last || `${command} ended with ${String(code)}`));
    });
  });
}
