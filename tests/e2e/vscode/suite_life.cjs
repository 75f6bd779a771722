// Runs inside the extension host. The life of the server: no environment for it, one made on request, crashes, off and on.

const assert = require("node:assert/strict");
const path = require("node:path");
const vscode = require("vscode");
const { information, plan, processes, say, suite, until } = require("./suite.cjs");

const SERVER = /-m graphmend_lsp/;
const CRASHES_ENDURED = 4;

exports.run = suite(async () => {
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(path.join(vscode.workspace.workspaceFolders[0].uri.fsPath, plan.name)));

  const none = await stateOf("failed");
  assert.match(none.message, /could not create the environment: .*no-such-package/);
  assert.deepEqual(processes(SERVER), []);
  say("nothing found:", none.message);

  await vscode.workspace.getConfiguration("graphmend").update("environment.source", undefined, vscode.ConfigurationTarget.Global);
  await vscode.commands.executeCommand("graphmend.createEnvironment");
  await stateOf("running");
  const { launch, server } = await information();
  assert.equal(launch.how, "the managed environment");
  assert.equal(launch.python, plan.settings["graphmend.interpreter"][0], "the model stays in the user's interpreter");
  assert.notEqual(launch.command, launch.python);
  say("made and started:", JSON.stringify(server), launch.command);

  let pid = await oneServer();
  for (let crash = 1; crash <= CRASHES_ENDURED; crash++) {
    process.kill(pid, "SIGKILL");
    pid = await oneServer(pid);
    await stateOf("running");
  }
  process.kill(pid, "SIGKILL");
  const given = await stateOf("failed");
  assert.match(given.message, /ended 5 times in 3 minutes. The extension does not start it again/);
  assert.deepEqual(processes(SERVER), []);
  say("after five crashes:", given.message);

  await vscode.commands.executeCommand("graphmend.restart");
  await stateOf("running");
  pid = await oneServer(pid);

  const settings = vscode.workspace.getConfiguration("graphmend");
  await settings.update("enable", false, vscode.ConfigurationTarget.Workspace);
  await stateOf("off");
  await until(() => processes(SERVER).length === 0, "the server has ended");
  await settings.update("enable", true, vscode.ConfigurationTarget.Workspace);
  await stateOf("running");
  await oneServer(pid);
  say("off and on");

  await Promise.all([1, 2, 3].map(() => vscode.commands.executeCommand("graphmend.restart")));
  await oneServer();
  say("three restarts at once leave one server");
});

function stateOf(kind) {
  let state;
  return until(async () => {
    ({ state } = await information());
    return state.kind === kind && state;
  }, `the state is ${kind}`, 30_000, async () => JSON.stringify(state));
}

// Seen twice: what a server starts bears its command line until it is another program, for a moment also when the server is killed.
async function oneServer(other) {
  let pid;
  await until(() => {
    const [before, found] = [pid, processes(SERVER)];
    pid = found.length === 1 && found[0] !== other ? found[0] : undefined;
    return pid !== undefined && pid === before;
  }, "there is one server", 15_000, async () => JSON.stringify(processes(SERVER)));
  return pid;
}
