// What the suites inside the extension host share: the plan, a log, waiting, and what the extension says of itself.

const fs = require("node:fs");
const vscode = require("vscode");

const plan = JSON.parse(process.env.GRAPHMEND_SUITE);
const started = Date.now();
const say = (...words) => fs.appendFileSync(plan.log, `[${((Date.now() - started) / 1000).toFixed(1)}s] ${words.join(" ")}\n`);

/** `steps` as a suite: what it throws is in the log and fails the run. */
const suite = (steps) => async () => {
  try {
    await steps();
    say("all steps passed");
  } catch (error) {
    say("FAILED", error.stack);
    throw error;
  }
};

/** Waits until `read()` gives something; `now()` tells what there was instead. */
async function until(read, what, milliseconds = 15_000, now = async () => "") {
  const end = Date.now() + milliseconds;
  for (;;) {
    const value = await read();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${milliseconds} ms until ${what}; there was: ${await now()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** What "Show Debug Information" shows. */
async function information() {
  await vscode.commands.executeCommand("graphmend.debugInformation");
  const shown = JSON.parse(vscode.window.activeTextEditor.document.getText());
  await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
  return shown;
}

/** The ids of this test's processes whose command line matches; the mark of the test is in their environment. */
function processes(pattern) {
  const mark = `GRAPHMEND_E2E=${process.env.GRAPHMEND_E2E}\0`;
  return fs.readdirSync("/proc").filter((pid) => /^\d+$/.test(pid)).flatMap((pid) => {
    try {
      const command = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      return pattern.test(command) && `${fs.readFileSync(`/proc/${pid}/environ`, "utf8")}\0`.includes(mark) ? [Number(pid)] : [];
    } catch {
      return []; // it has ended meanwhile
    }
  });
}

module.exports = { information, plan, processes, say, suite, until };
