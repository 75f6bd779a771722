// Runs inside the extension host. A workspace of two folders, each with its own interpreter; then of one of them.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { information, plan, processes, say, suite, until } = require("./suite.cjs");

exports.run = suite(async () => {
  const folders = vscode.workspace.workspaceFolders.map((folder) => folder.uri.fsPath);
  assert.deepEqual(folders.map((folder) => path.basename(folder)), ["one", "two"]);
  for (const folder of folders) {
    const name = path.basename(folder);
    const document = await open(folder);
    await vscode.commands.executeCommand("graphmend.runNow");
    const told = () => ours(document).find((one) => one.message.includes(`the interpreter of ${name}`));
    await until(told, `${name} runs in its own interpreter`, 60_000, async () => JSON.stringify(ours(document)));
    say(name, told().message);
  }
  assert.ok(workers("one").length > 0 && workers("two").length > 0);

  // The status item shows the worker of the active file's folder.
  for (const folder of folders) {
    await open(folder);
    const seen = async () => (await information()).state.worker?.folder ?? "";
    await until(async () => (await seen()).endsWith(`/${path.basename(folder)}`), "the status is of the active folder", 15_000, seen);
  }

  const other = await open(folders[1]);
  vscode.workspace.updateWorkspaceFolders(1, 1);
  await until(() => workers("two").length === 0, "the worker of the removed folder has ended", 15_000, async () => JSON.stringify(workers("two")));
  await until(() => ours(other).length === 0, "its findings are gone", 15_000, async () => JSON.stringify(ours(other)));
  assert.ok(workers("one").length > 0);
  const left = await open(folders[0]);
  await until(() => ours(left).length > 0, "what the other folder found stays", 15_000, async () => JSON.stringify(workers("one")));
});

/** The processes whose interpreter is a folder's. */
const workers = (name) =>
  processes(/python/).filter((pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/environ`, "utf8").includes(`GRAPHMEND_WHICH=${name}\0`);
    } catch {
      return false; // it has ended meanwhile
    }
  });

async function open(folder) {
  const document = await vscode.workspace.openTextDocument(path.join(folder, plan.name));
  await vscode.window.showTextDocument(document);
  return document;
}

const ours = (document) => vscode.languages.getDiagnostics(document.uri).filter((one) => one.source === "graphmend");
