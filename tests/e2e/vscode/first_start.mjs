// A fresh profile, and a folder with two environments: `.venv` without torch, and `venv` with it. No setting of GraphMend.
//
// The extension takes .venv, sets up the server's own environment without a word, and says on save that torch is missing; its
// button `Use venv` is all that is needed. The walkthrough has its three steps.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inWorkbench, processes, readPlan, say, until } from "./workbench.mjs";

const plan = readPlan();
const { name } = plan;
const STEPS = ["Choose the Python of your model", "Find the graph breaks of a file", "Mend them"];

await inWorkbench(
  plan,
  async (workbench) => {
    const { page } = workbench;
    await workbench.fileOpen(name);
    await until(() => processes(/-m graphmend_lsp/).length === 1, "the server in its own environment", 90_000);
    await workbench.squiggles.first().waitFor();
    const toasts = page.locator(".notification-toast");
    if (await toasts.count()) throw new Error(`the start was not quiet: ${await toasts.allInnerTexts()}`);
    say("started:", processes(/-m graphmend_lsp/)[0].command);

    await workbench.goTo(1, 1);
    await page.keyboard.type("#");
    await workbench.save(name);
    const told = toasts.filter({ hasText: /has no torch/ }).first();
    await told.waitFor({ timeout: 45_000 });
    const words = await told.innerText();
    if (!words.includes(join(plan.folder, ".venv", "bin", "python"))) throw new Error(`the message names no interpreter: ${words}`);
    const buttons = await told.locator(".monaco-button").allInnerTexts();
    say("told:", JSON.stringify(words), JSON.stringify(buttons));
    for (const wanted of ["Use venv", "Choose Interpreter…", "Install torch"]) {
      if (!buttons.includes(wanted)) throw new Error(`no button ${wanted}: ${JSON.stringify(buttons)}`);
    }
    await told.locator(".monaco-button", { hasText: "Use venv" }).first().click();
    const chosen = await until(() => {
      try {
        return JSON.parse(readFileSync(join(plan.folder, ".vscode", "settings.json"), "utf8"))["graphmend.interpreter"];
      } catch {
        return undefined; // not there yet, or not written to its end
      }
    }, "the interpreter in the folder's settings");
    if (chosen[0] !== join(plan.folder, "venv", "bin", "python")) throw new Error(`another interpreter was set: ${chosen}`);

    await workbench.goTo(1, 1);
    await page.keyboard.press("Delete");
    await workbench.save(name);
    await workbench.warnings.first().waitFor({ timeout: 60_000 });
    await workbench.problemRows(/graphmend/, plan.breaks);
    say("compiled with the torch of venv");

    await page.keyboard.press("Control+J"); // the walkthrough shows a step's page only where there is room
    await page.keyboard.press("Control+B");
    await page.keyboard.press("F1");
    for (const [written, row] of [[">Welcome: Open Walkthrough", "Open Walkthrough"], ["GraphMend", "Mend graph breaks with GraphMend"]]) {
      await page.locator(".quick-input-widget input").fill(written);
      await page.locator(".quick-input-list .monaco-list-row", { hasText: row }).first().click();
    }
    await page.locator(".getting-started-step").nth(STEPS.length - 1).waitFor();
    const steps = (await page.locator(".getting-started-step .step-title").allInnerTexts()).map((step) => step.trim());
    if (JSON.stringify(steps) !== JSON.stringify(STEPS)) throw new Error(`other steps: ${JSON.stringify(steps)}`);
    await page.locator(".getting-started-step", { hasText: STEPS[1] }).first().click();
    const shown = page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");
    await shown.getByText("What a graph break looks like").waitFor();
    if (plan.screenshots) await workbench.screenshot(join(plan.screenshots, "walkthrough.png"));
    say("walkthrough:", JSON.stringify(steps));
  },
  { file: name },
);
