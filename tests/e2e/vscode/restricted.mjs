// Restricted Mode: the break is seen by reading the source and a save runs nothing; once the folder is trusted, it is run.
//
// The model writes plan.ran when it is imported. A worker process has `worker/__main__.py` in its command line.

import { existsSync } from "node:fs";
import { inWorkbench, processes, readPlan, say, until } from "./workbench.mjs";

const plan = readPlan();
const { name } = plan;
const SERVER = /-m graphmend_lsp/;
const WORKER = /worker[/\\]__main__\.py/;

await inWorkbench(
  plan,
  async (workbench) => {
    await workbench.fileOpen(name);
    const restricted = workbench.page.locator(".statusbar-item", { hasText: "Restricted Mode" }).first();
    await restricted.waitFor();
    await workbench.squiggles.first().waitFor();
    say("read:", JSON.stringify(await workbench.problemRows(/graphmend/, plan.breaks)));
    const [reading, ...more] = processes(SERVER);
    if (!reading || more.length) throw new Error(`there is not exactly one server: ${JSON.stringify(processes(SERVER))}`);

    await workbench.goTo(1, 1);
    await workbench.page.keyboard.type("#");
    await workbench.save(name);
    await workbench.page.waitForTimeout(3_000); // long enough for a worker to start and import the model
    await workbench.problemRows(/graphmend/, plan.breaks);
    if (await workbench.warnings.count()) throw new Error("a break was confirmed by a run");
    if (existsSync(plan.ran)) throw new Error("the model was imported");
    const workers = processes(WORKER);
    if (workers.length) throw new Error(`a worker was started: ${JSON.stringify(workers)}`);
    say("nothing was run");

    await workbench.command("Workspaces: Manage Workspace Trust");
    await workbench.page.locator(".workspace-trust-editor .monaco-button", { hasText: /^Trust$/ }).first().click();
    await restricted.waitFor({ state: "detached" });
    const page = workbench.page.locator(".monaco-modal-editor-block"); // the page about trust lies over the editor
    await page.getByRole("button", { name: /^Close/ }).first().click();
    await page.waitFor({ state: "hidden" });
    await until(() => processes(SERVER).some(({ pid }) => pid !== reading.pid), "a server that may run the model");
    await workbench.problemRows(/graphmend/, plan.breaks);
    await workbench.goTo(1, 1);
    await workbench.page.keyboard.press("Delete");
    await workbench.save(name);
    await workbench.warnings.first().waitFor({ timeout: 45_000 });
    if (!existsSync(plan.ran)) throw new Error("the model was not imported after trust was given");
    say("run after trust was given");
  },
  { file: name },
);
