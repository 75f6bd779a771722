// Save a model whose breaks are in a helper file that is not open: they are shown there, in the model is a note at the call. What
// cannot be mended says why in its message. Mend all in the helper, which tells what it does, and save: the note is gone.

import { join } from "node:path";
import { inWorkbench, readPlan, say, until } from "./workbench.mjs";

const plan = readPlan();
const { name, helper } = plan;

await inWorkbench(
  plan,
  async (workbench) => {
    const { page } = workbench;
    await workbench.fileOpen(name);
    await workbench.goTo(1, 1);
    await until(async () => { // what is saved before the server is there is not told to it
      await workbench.save(name);
      return workbench.problemRows(new RegExp(plan.mendable), 1, 8_000).catch(() => workbench.focus());
    }, "the break of the helper", 90_000);
    const rows = await until(async () => {
      const found = await workbench.problems.allInnerTexts();
      return found.some((row) => row.startsWith(helper)) && found.some((row) => row.startsWith(name)) && found;
    }, "both files", 30_000, async () => JSON.stringify(await workbench.problems.allInnerTexts()));
    say("found:", JSON.stringify(rows));
    if (plan.screenshots) await workbench.screenshot(join(plan.screenshots, "files.png"));

    await page.locator(".explorer-folders-view .monaco-list-row", { hasText: helper }).dblclick();
    await workbench.fileOpen(helper);
    await workbench.warnings.first().waitFor({ timeout: 30_000 });
    await workbench.goTo(1, 1);
    const told = new Set();
    await workbench.command("GraphMend: Mend All Graph Breaks in File");
    await until(async () => {
      for (const text of await page.locator(".notification-toast, .statusbar-item").allInnerTexts()) {
        if (/GraphMend|Mend/.test(text)) told.add(text.replace(/\s+/g, " ").trim());
      }
      return (await page.locator(".tab.dirty", { hasText: helper }).count()) > 0;
    }, "the mended helper", 90_000, async () => JSON.stringify([...told]));
    say("told:", JSON.stringify([...told]));
    if (![...told].some((text) => new RegExp(plan.progress).test(text))) throw new Error("nothing told what was going on");
    await workbench.save(helper);
    await until(() => workbench.onDisk(helper) === plan.mended, "the mended helper on disk", 10_000, async () => workbench.onDisk(helper));
    await workbench.problemRows(new RegExp(plan.mendable), 0, 60_000);
    await workbench.problemRows(new RegExp(plan.refused), 1, 60_000);
    say("left:", JSON.stringify(await workbench.problems.allInnerTexts()));
  },
  { file: name },
);
