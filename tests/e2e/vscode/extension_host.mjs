// Runs a suite (plan.suite) inside the extension host of a real workbench, with the real `vscode` module.
// A built VS Code takes tests only from `developmentOptions` of its page, so they are put there before it reads them.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inWorkbench, readPlan, say } from "./workbench.mjs";

const plan = readPlan();
process.env.GRAPHMEND_SUITE = JSON.stringify(plan);
let finished;
const done = new Promise((resolve) => (finished = resolve));

await inWorkbench(
  plan,
  async () => {
    const code = await Promise.race([done, new Promise((resolve) => setTimeout(resolve, plan.seconds * 1000, "it did not end").unref())]);
    let log = "";
    try {
      log = readFileSync(plan.log, "utf8");
    } catch (error) {
      log = String(error);
    }
    say("suite:", code, "\n" + log);
    if (code !== 0) throw new Error(`the suite failed (${code}):\n${log}`);
  },
  {
    prepare: async (page, authority) => {
      await page.exposeFunction("codeAutomationExit", finished);
      await page.exposeFunction("codeAutomationLog", () => {});
      const suite = { $mid: 1, scheme: "vscode-remote", authority, path: join(import.meta.dirname, plan.suite) };
      const extension = { $mid: 1, scheme: "vscode-remote", authority, path: plan.extension };
      await page.addInitScript((options) => {
        const original = Element.prototype.getAttribute;
        Element.prototype.getAttribute = function (name) {
          const value = original.call(this, name);
          if (name !== "data-settings" || this.id !== "vscode-workbench-web-configuration") return value;
          return JSON.stringify({ ...JSON.parse(value), developmentOptions: options });
        };
      }, { extensions: [extension], extensionTestsPath: suite });
    },
  },
);
