// Which interpreter the user has chosen: in the Python Environments extension, else in the Python extension. Both may be there.

import type * as vscode from "vscode";

/** What is used of the interface of `ms-python.vscode-python-envs`. */
export interface EnvironmentsExtension {
  getEnvironment?(scope: vscode.Uri | undefined): Promise<{ readonly execInfo?: { readonly run?: { readonly executable?: string } } } | undefined>;
  readonly onDidChangeEnvironment?: vscode.Event<unknown>;
}

/** What is used of the `environments` of `ms-python.python`. */
export interface PythonEnvironments {
  getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
  resolveEnvironment(environment: { readonly path: string }): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
  readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
}

/** The interpreter of a folder, of whichever extension has one; one that fails is passed over, and `say` gets the reason. */
export async function chosenPython(
  environments: EnvironmentsExtension | undefined,
  python: PythonEnvironments | undefined,
  folder: vscode.Uri | undefined,
  say: (words: string) => void,
): Promise<string | undefined> {
  try {
    const chosen = await environments?.getEnvironment?.(folder);
    if (chosen?.execInfo?.run?.executable) return chosen.execInfo.run.executable;
  } catch (error) {
    say(`The extension Python Environments did not report its environment: ${String(error)}`);
  }
  try {
    const chosen = python?.getActiveEnvironmentPath(folder);
    return chosen && (await python?.resolveEnvironment(chosen))?.executable.uri?.fsPath;
  } catch (error) {
    say(`The Python extension did not report its environment: ${String(error)}`);
    return undefined;
  }
}
