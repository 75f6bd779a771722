// Open a model, see the break while its source is only read, save so that torch confirms it, mend it with Ctrl+., save; the
// file on disk is mended, the diagnostic gone, and the server can be restarted.

import { join } from "node:path";
import { inWorkbench, processes, readPlan, say, until } from "./workbench.mjs";

const plan = readPlan();
const { name } = plan;
const shown = new RegExp(plan.shown);
const action = new RegExp(plan.action);
const SERVER = /-m graphmend_lsp/;

await inWorkbench(
  plan,
  async (workbench) => {
    await workbench.fileOpen(name);
    if (plan.screenshots) await workbench.page.keyboard.press("Control+B"); // more room for what is to be seen
    await workbench.squiggles.first().waitFor();
    say("read:", JSON.stringify(await workbench.problemRows(shown, plan.breaks)));
    if (await workbench.warnings.count()) throw new Error("a break is confirmed before anything was run");

    await workbench.goTo(plan.break.line, plan.break.column);
    await workbench.save(name);
    await workbench.warnings.first().waitFor({ timeout: 45_000 });
    say("run:", JSON.stringify(await workbench.problemRows(shown, plan.breaks)));

    const menu = await provenMend(workbench);
    say("menu:", JSON.stringify(await menu.innerText()));
    if (plan.screenshots) await workbench.screenshot(join(plan.screenshots, "quick-fix.png"));
    await menu.locator(".monaco-list-row", { hasText: action }).first().click();
    await workbench.page.locator(".tab.dirty", { hasText: name }).waitFor();
    await workbench.save(name);
    await until(() => workbench.onDisk(name) === plan.mended, "the mended file on disk", 10_000, async () => workbench.onDisk(name));
    await workbench.problemRows(shown, 0, 45_000);
    say("mended");
    if (plan.screenshots) {
      await workbench.goTo(plan.break.line, plan.break.column);
      await workbench.page.waitForTimeout(1_500); // for the diagnostics of the save
      await workbench.screenshot(join(plan.screenshots, "mended.png"));
    }

    const [before] = processes(SERVER);
    await workbench.command("GraphMend: Restart Server");
    await until(() => processes(SERVER).some(({ pid }) => pid !== before.pid), "another server", 15_000);
    await until(() => !processes(SERVER).some(({ pid }) => pid === before.pid), "the end of the first server", 15_000);
    await workbench.problemRows(/graphmend/, plan.left);
    say("restarted");
  },
  { file: name },
);

/** The quick fix menu, once it offers a mend whose verdict is there. */
function provenMend(workbench) {
  let text = "";
  return until(async () => {
    await workbench.goTo(plan.break.line, plan.break.column);
    const menu = await workbench.quickFixes();
    text = await menu.innerText();
    if (action.test(text) && !/not verified yet/.test(text)) return menu;
    await workbench.page.keyboard.press("Escape");
    await menu.waitFor({ state: "hidden" });
    return undefined;
  }, `the quick fix ${action}`, 45_000, async () => text);
}
