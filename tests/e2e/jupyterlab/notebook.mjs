// JupyterLab with jupyterlab-lsp, as a person meets it: open a notebook, see the squiggle of a break in its cell, its message
// under the pointer, and the message of the run after a save.
// plan: {jupyter, chromium, folder, config, home, out, name, text, read, run, screenshots?}; the environment has the server on its PATH.

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { readPlan, say, until } from "../vscode/workbench.mjs";

const plan = readPlan();
const lab = startLab();
let browser;
let page;
try {
  const address = await until(async () => lab.output().match(/http:\/\/127\.0\.0\.1:\d+\/lab/)?.[0], "JupyterLab", 60_000, async () => lab.output());
  browser = await chromium.launch({ executablePath: plan.chromium, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  page = await browser.newPage({ viewport: { width: 1100, height: 760 } });
  page.setDefaultTimeout(25_000);
  await page.goto(`${address}/tree/${plan.name}?reset`);
  const cell = page.locator(".jp-CodeCell .cm-editor", { hasText: plan.text }).first();
  await cell.waitFor({ timeout: 60_000 });
  say("notebook");

  const mark = cell.locator(".cm-lintRange", { hasText: plan.text.split(" ")[0] }).first();
  await mark.waitFor({ timeout: 45_000 });
  say("marked:", JSON.stringify(await marked(cell)));
  await messageUnderPointer(new RegExp(plan.read));
  await page.keyboard.press("Control+S");
  await messageUnderPointer(new RegExp(plan.run), 60_000);
  if (JSON.stringify(await marked(cell)) !== JSON.stringify(plan.marked)) throw new Error(`marked: ${JSON.stringify(await marked(cell))}`);
  if (plan.screenshots) await page.screenshot({ path: join(plan.screenshots, "jupyterlab.png") });
  say("PASS");

  /** Hovers until a message is shown that is as wanted: what is drawn while the pointer moves shows none. */
  async function messageUnderPointer(wanted, milliseconds = 25_000) {
    let text = "";
    await until(async () => {
      await page.mouse.move(5, 5);
      await mark.hover({ force: true });
      const box = page.locator(".cm-tooltip, .lsp-hover, .jp-Tooltip, [class*='hover'] .jp-RenderedMarkdown");
      await box.first().waitFor({ timeout: 3_000 }).catch(() => {});
      text = (await box.allInnerTexts()).join("\n");
      return wanted.test(text);
    }, `a message like ${wanted}`, milliseconds, async () => text);
    say("message:", JSON.stringify(text));
  }
} catch (error) {
  process.exitCode = 1;
  console.error(error);
  mkdirSync(plan.out, { recursive: true });
  await page?.screenshot({ path: join(plan.out, "failure.png") }).catch(() => {});
  console.error(`screenshot: ${join(plan.out, "failure.png")}\n${lab.output()}`);
} finally {
  await browser?.close().catch(() => {});
  await lab.stop();
}

/** The texts that have a squiggle, each as one text though the editor may draw it in parts. */
async function marked(cell) {
  return cell.locator(".cm-line").evaluateAll((lines) => lines
    .map((line) => [...line.querySelectorAll(".cm-lintRange")].filter((one) => !one.parentElement.closest(".cm-lintRange")).map((one) => one.textContent).join(""))
    .filter(Boolean));
}

function startLab() {
  const child = spawn(
    plan.jupyter,
    ["lab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0", "--IdentityProvider.token=", `--notebook-dir=${plan.folder}`],
    { stdio: ["ignore", "pipe", "pipe"], cwd: plan.folder, env: { ...process.env, HOME: plan.home, JUPYTER_CONFIG_DIR: plan.config, JUPYTER_PLATFORM_DIRS: "0" } },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const stop = async () => {
    child.kill("SIGTERM");
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5_000))]);
    child.kill("SIGKILL");
  };
  return { output: () => output, stop };
}
