// Open a notebook, see the break in its cell, save so that torch confirms it with the call that another cell makes, mend it
// with Ctrl+. in the cell, save; the cell on disk is mended, all else of the file is as it was, and the diagnostic is gone.

import { join } from "node:path";
import { inWorkbench, readPlan, say, until } from "./workbench.mjs";

const plan = readPlan();
const { name } = plan;
const shown = new RegExp(plan.shown);
const action = new RegExp(plan.action);

await inWorkbench(
  plan,
  async (workbench) => {
    const { page } = workbench;
    const cell = page.locator(".notebookOverlay .cell .monaco-editor", { hasText: "class Net" }).first();
    // From the explorer, and again: what is opened before the extension that knows notebooks is there is shown as JSON.
    await until(async () => {
      await page.locator(".explorer-folders-view .monaco-list-row", { hasText: name }).dblclick();
      if (await cell.waitFor({ timeout: 6_000 }).then(() => true, () => false)) return true;
      await workbench.command("View: Close All Editors");
      return false;
    }, "a notebook", 45_000);
    if (plan.screenshots) await page.keyboard.press("Control+B");
    await cell.locator(".squiggly-info, .squiggly-warning").first().waitFor();
    say("read");
    if (await page.locator(".notebookOverlay .squiggly-warning").count()) throw new Error("confirmed before anything was run");

    const line = cell.locator(".view-line", { hasText: plan.text }).first();
    const toBreak = async () => {
      await line.click({ position: { x: 120, y: 8 } });
      await cell.and(page.locator(".focused")).waitFor();
    };
    await toBreak();
    await workbench.save(name);
    await cell.locator(".squiggly-warning").first().waitFor({ timeout: 45_000 });
    say("run");

    const hover = page.locator(".monaco-hover-content", { hasText: plan.hover }).first();
    await until(async () => { // what is drawn anew under the pointer shows no hover
      await page.mouse.move(5, 5);
      await cell.locator(".squiggly-warning").first().hover({ force: true });
      return hover.waitFor({ timeout: 4_000 }).then(() => true, () => false);
    }, "the hover");
    say("hover:", JSON.stringify((await hover.innerText()).slice(0, 400)));
    await page.mouse.move(5, 5);

    let text = "";
    const menu = await until(async () => {
      await toBreak();
      const found = await workbench.quickFixes();
      text = await found.innerText();
      if (action.test(text) && !/not verified yet/.test(text)) return found;
      await page.keyboard.press("Escape");
      await found.waitFor({ state: "hidden" });
      return undefined;
    }, `the quick fix ${action}`, 45_000, async () => text);
    say("menu:", JSON.stringify(text));
    if (plan.screenshots) await workbench.screenshot(join(plan.screenshots, "notebook.png"));
    await menu.locator(".monaco-list-row", { hasText: action }).first().click();
    await page.locator(".tab.dirty", { hasText: name }).waitFor();
    await workbench.save(name);
    const source = () => JSON.parse(workbench.onDisk(name)).cells.map((one) => [one.source].flat().join(""));
    await until(() => JSON.stringify(source()) === JSON.stringify(plan.mended), "the mended cells", 10_000, async () => JSON.stringify(source()));
    await cell.locator(".squiggly-warning, .squiggly-info").first().waitFor({ state: "detached", timeout: 45_000 });
    say("mended");

    await page.keyboard.press("Control+Z");
    await page.locator(".tab.dirty", { hasText: name }).waitFor();
    await workbench.save(name);
    await cell.locator(".squiggly-warning").first().waitFor({ timeout: 45_000 });
    const other = page.locator(".notebookOverlay .cell .monaco-editor", { hasText: "import torch" }).first();
    await other.click();
    await workbench.command("GraphMend: Show Graph Map"); // of the notebook, whatever cell has the focus
    const map = page.frameLocator('iframe.webview.ready[src*="extensionId=graphmend"]').frameLocator("iframe#active-frame"); // the notebook has a webview, too
    const stop = map.getByRole("button", { name: new RegExp(`^Graph break 1: ${plan.shown}, ${name.replace(".", "\\.")}:cell 2:8\\b`) }).first();
    await stop.click();
    await page.locator(".notebookOverlay .code-cell-row.focused", { hasText: "class Net" }).first().waitFor();
    say("from the map to the cell");
  },
);
