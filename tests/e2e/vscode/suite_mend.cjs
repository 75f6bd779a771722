// Runs inside the extension host. What a model author gets from GraphMend, asked of the real `vscode` API.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { information, plan, say, suite, until } = require("./suite.cjs");

exports.run = suite(steps);

async function steps() {
  const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const file = path.join(folder, plan.name);
  const original = fs.readFileSync(file, "utf8");
  const document = await vscode.workspace.openTextDocument(file);
  await vscode.window.showTextDocument(document);

  const found = await until(() => some(ours(document).filter((one) => document.getText(one.range) === plan.text)), "the break is found by reading");
  assert.equal(found[0].source, "graphmend");
  assert.equal(codeOf(found[0]), plan.code);
  assert.ok(found[0].severity > vscode.DiagnosticSeverity.Warning, "nothing has been run yet");
  say("read:", describe(document));

  // A save that the editor makes by itself runs nothing.
  const files = vscode.workspace.getConfiguration("files");
  await files.update("autoSaveDelay", 100, vscode.ConfigurationTarget.Global);
  await files.update("autoSave", "afterDelay", vscode.ConfigurationTarget.Global);
  await touch(document);
  await until(() => !document.isDirty, "the editor saves the file");
  await new Promise((done) => setTimeout(done, 4_000)); // a run takes a second or two
  const { state: idle } = await information();
  assert.equal(some(ours(document).filter(isConfirmed)), undefined, describe(document));
  await files.update("autoSave", "off", vscode.ConfigurationTarget.Global);
  say("auto-save ran nothing:", JSON.stringify(idle.worker));

  await vscode.commands.executeCommand("graphmend.runNow");
  const confirmed = await until(
    () => some(ours(document).filter(isConfirmed)), "torch confirms the break", 45_000,
  );
  assert.ok(confirmed.some((one) => document.getText(one.range) === plan.text && codeOf(one) === plan.code), describe(document));
  say("run:", describe(document));

  const range = confirmed.find((one) => document.getText(one.range) === plan.text).range;
  const mend = await until(async () => {
    const actions = await vscode.commands.executeCommand("vscode.executeCodeActionProvider", document.uri, range, "quickfix", 20);
    return actions.find((one) => one.isPreferred);
  }, "a mend that is verified safe", 20_000, async () => {
    const actions = await vscode.commands.executeCommand("vscode.executeCodeActionProvider", document.uri, range, "quickfix", 20);
    return JSON.stringify(actions.map((one) => [one.title, one.isPreferred, one.disabled]));
  });
  say("offered:", mend.title);
  assert.match(mend.title, /^Mend graph break/);
  assert.ok(mend.edit, "the edit is resolved");
  assert.ok(await vscode.workspace.applyEdit(mend.edit));
  assert.equal(document.getText(), plan.mendedOnce);
  await until(() => !ours(document).some((one) => document.getText(one.range) === plan.text), "the mended break is no longer shown");
  say("mended once:", describe(document));

  // Everything at once, by a save: what is mended is what was proven, and the rest of the file stays.
  await vscode.commands.executeCommand("undo");
  assert.equal(document.getText(), original);
  await vscode.workspace.getConfiguration("editor").update("codeActionsOnSave", { "source.fixAll.graphmend": "explicit" }, vscode.ConfigurationTarget.Global);
  await until(async () => {
    if (fs.readFileSync(file, "utf8") === plan.mendedAll) return true;
    await touch(document);
    await document.save();
    if (fs.readFileSync(file, "utf8") === plan.mendedAll) return true;
    await new Promise((done) => setTimeout(done, 10_000)); // a save makes what is proven; what it starts proves more
    return false;
  }, "the save mends all", 90_000, async () => `${fs.readFileSync(file, "utf8")}\n${describe(document)}`);
  const left = () => JSON.stringify(ours(document).map((one) => document.getText(one.range)));
  await until(() => left() === JSON.stringify(plan.leftAfterAll), "only what cannot be mended is left", 30_000, async () => describe(document));
  say("mended all:", describe(document));

  const { launch, state, trusted } = await information();
  assert.equal(trusted, true);
  assert.equal(launch.kind, "found");
  assert.equal(state.kind, "running");
  assert.match(state.worker.torch, /^\d+\.\d+/);
  say("state:", JSON.stringify(state));
}

/** Makes the document dirty without changing it, so that saving it does what a save does. */
async function touch(document) {
  const end = document.lineAt(document.lineCount - 1).range.end;
  for (const change of [(edit) => edit.insert(document.uri, end, " "), (edit) => edit.delete(document.uri, new vscode.Range(end, end.translate(0, 1)))]) {
    const edit = new vscode.WorkspaceEdit();
    change(edit);
    await vscode.workspace.applyEdit(edit);
  }
}

const ours = (document) => vscode.languages.getDiagnostics(document.uri).filter((one) => one.source === "graphmend");
const isConfirmed = (diagnostic) => diagnostic.severity === vscode.DiagnosticSeverity.Warning;
const codeOf = (diagnostic) => (typeof diagnostic.code === "object" ? diagnostic.code.value : diagnostic.code);
const some = (list) => (list.length > 0 ? list : undefined);
const describe = (document) =>
  JSON.stringify(ours(document).map((one) => [document.getText(one.range), codeOf(one), one.severity, one.message, (one.relatedInformation ?? []).length]));
