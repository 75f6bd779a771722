// Save a model, see its breaks in the explorer and the lens above its entry, open the graph map from there: the strip is drawn under the view's policy and in
// the theme's colours, a click on a break goes to its line, and after Mend all the map shows before beside after.

import assert from "node:assert/strict";
import { join } from "node:path";
import { inWorkbench, readPlan, say, until } from "./workbench.mjs";

const plan = readPlan();
const { name } = plan;

await inWorkbench(
  plan,
  async (workbench) => {
    const { page } = workbench;
    const refused = [];
    page.on("console", (message) => /Content Security Policy/i.test(message.text()) && refused.push(message.text()));
    await workbench.fileOpen(name);
    await workbench.squiggles.first().waitFor();
    await workbench.goTo(1, 1);
    await workbench.save(name);
    await workbench.warnings.first().waitFor({ timeout: 45_000 });
    await breaksInTheExplorer(page);
    await page.keyboard.press("Control+B"); // room for the map beside the code
    const lens = page.locator(".codelens-decoration a", { hasText: new RegExp(plan.lens) }).first();
    await lens.waitFor();
    say("lenses:", JSON.stringify(await page.locator(".codelens-decoration").allInnerTexts()));

    await page.locator(".codelens-decoration a", { hasText: /^Graph map$/ }).first().click();
    const map = page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
    const strip = map.getByRole("list", { name: /^eval: 3 graphs/ });
    await strip.waitFor();
    const names = await strip.getByRole("button").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
    say("strip:", JSON.stringify(names));
    assert.ok(names.some((one) => one.startsWith("Graph 1 of 3: ")), "no graph");
    await strip.getByRole("button", { name: /^Graph 1 of 3: .* of the time/ }).waitFor({ timeout: 60_000 }); // measured behind the proofs

    // The theme is the editor's.
    const colours = await map.locator("body").evaluate((body) => [getComputedStyle(body).backgroundColor, getComputedStyle(body).getPropertyValue("--vscode-editor-background")]);
    const [r, g, b] = colours[0].match(/\d+/g).map(Number);
    assert.equal(`#${[r, g, b].map((one) => one.toString(16).padStart(2, "0")).join("")}`, colours[1].trim().toLowerCase());

    // A click goes to the line, with the map still beside it.
    await workbench.goTo(1, 1);
    await strip.getByRole("button", { name: new RegExp(`^Graph break \\d+: ${plan.shown}, ${name.replace(".", "\\.")}:${plan.line}\\b`) }).first().click();
    await page.locator(".statusbar-item", { hasText: `Ln ${plan.line}, Col ` }).first().waitFor();
    assert.ok(await strip.isVisible());
    await map.locator(".card.chosen").getByText(plan.text, { exact: true }).first().waitFor();
    if (plan.screenshots) {
      await map.getByText("verified").first().waitFor({ timeout: 5_000 }).catch(() => {});
      await until(async () => !(await map.getByText("not verified").count()), "every mend verified", 30_000);
      await workbench.screenshot(join(plan.screenshots, "graph-map.png"));
    }

    await workbench.focus();
    await workbench.goTo(1, 1);
    await lens.waitFor();
    await lens.click();
    await map.getByRole("heading", { name: /^eval, before the mend: 3 graphs/ }).waitFor({ timeout: 60_000 });
    await map.getByRole("heading", { name: /^eval, after the mend: 1 graph \(/ }).waitFor();
    assert.equal(await map.getByText("safe", { exact: true }).first().isVisible(), true);
    say("mended");
    if (plan.screenshots) await workbench.screenshot(join(plan.screenshots, "graph-map-mended.png"));
    assert.deepEqual(refused.filter((words) => !/report-only/i.test(words)), []);
  },
  { file: name },
);

/** The view in the explorer: a file with its breaks; a click goes there. */
async function breaksInTheExplorer(page) {
  const pane = page.locator(".pane", { has: page.locator(".pane-header", { hasText: "Graph Breaks" }) });
  await pane.locator(".pane-header").click();
  const rows = pane.locator(".monaco-list-row");
  await rows.filter({ hasText: /2 graph breaks/ }).first().waitFor();
  say("tree:", JSON.stringify(await rows.allInnerTexts()));
  await rows.filter({ hasText: new RegExp(`^${plan.line}: `) }).first().click();
  await page.locator(".statusbar-item", { hasText: `Ln ${plan.line}, Col ` }).first().waitFor();
}
