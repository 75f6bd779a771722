// A real VS Code workbench: code-server in a folder of its own, driven through headless Chromium. What a person does at
// the keyboard is here; what is expected of GraphMend is in the scripts that use this.

import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { chromium } from "playwright-core";

const started = Date.now();

/** Says something with the seconds since the start. */
export const say = (...words) => console.log(`[${((Date.now() - started) / 1000).toFixed(1)}s]`, ...words);

/**
 * Runs `act(workbench)` in a fresh workbench on `plan.folder` and sets the exit code. On failure a screenshot and the logs
 * of the extension and the server are left in `plan.out`, and their text is printed.
 *
 * plan: {codeServer, chromium, extensions, data, folder, settings, trust, out}, all paths absolute; `file` is opened at start.
 * With `workspace`, a .code-workspace file, it is opened in place of the folder.
 */
export async function inWorkbench(plan, act, { file, prepare } = {}) {
  const port = await freePort();
  const server = startCodeServer(plan, port);
  let browser;
  let page;
  try {
    await server.ready;
    browser = await chromium.launch({
      executablePath: plan.chromium,
      args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    });
    page = await browser.newPage({ viewport: { width: 1280, height: 760 } });
    page.setDefaultTimeout(25_000);
    const authority = `127.0.0.1:${port}`;
    await prepare?.(page, authority);
    const opened = file ? `&payload=${encodeURIComponent(JSON.stringify([["openFile", `vscode-remote://${authority}${join(plan.folder, file)}`]]))}` : "";
    const place = plan.workspace ? `workspace=${encodeURIComponent(plan.workspace)}` : `folder=${encodeURIComponent(plan.folder)}`;
    await page.goto(`http://${authority}/?${place}${opened}`);
    await page.locator(".monaco-workbench").waitFor();
    say("workbench");
    await act(new Workbench(page, plan));
    say("PASS");
  } catch (error) {
    process.exitCode = 1;
    console.error(error);
    mkdirSync(plan.out, { recursive: true });
    await page?.screenshot({ path: join(plan.out, "failure.png") }).catch(() => {});
    console.error(`screenshot: ${join(plan.out, "failure.png")}`);
    console.error(server.output());
  } finally {
    await browser?.close().catch(() => {});
    await server.stop();
  }
}

/** The window as a person uses it. */
export class Workbench {
  constructor(page, plan) {
    this.page = page;
    this.plan = plan;
    this.editor = page.locator(".editor-instance .monaco-editor").first();
    this.squiggles = page.locator(".editor-instance .squiggly-warning, .editor-instance .squiggly-info");
    this.warnings = page.locator(".editor-instance .squiggly-warning");
    this.problems = page.locator(".markers-panel .monaco-list-row");
  }

  async fileOpen(name) {
    await this.page.locator(".tab", { hasText: name }).first().waitFor();
    await this.editor.waitFor();
  }

  /** Puts the cursor at a 1-based line and column (UTF-16). */
  async goTo(line, column) {
    await this.focus();
    await this.page.keyboard.press("Control+G");
    await this.page.locator(".quick-input-widget input").waitFor();
    await this.page.keyboard.type(`${line}:${column}`);
    await this.page.keyboard.press("Enter");
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
    await this.page.locator(".statusbar-item", { hasText: `Ln ${line}, Col ${column}` }).first().waitFor();
  }

  async focus() {
    await this.page.keyboard.press("Control+1"); // the first editor group, wherever the focus is
    await this.page.locator(".editor-instance .monaco-editor.focused").waitFor();
  }

  async save(name) {
    await this.page.keyboard.press("Control+S");
    await this.page.locator(".tab.dirty", { hasText: name }).waitFor({ state: "detached" });
  }

  /** Opens the quick fix menu at the cursor. A key pressed while focus returns to the editor is lost, so it is pressed again. */
  async quickFixes() {
    const menu = this.page.locator(".action-widget:not(.action-list-submenu-panel)").first();
    for (let tries = 0; ; tries++) {
      await this.page.keyboard.press("Control+.");
      try {
        await menu.waitFor({ timeout: 3_000 });
        return menu;
      } catch (error) {
        if (tries === 4) throw error;
      }
    }
  }

  /** Runs a command of the command palette by its title. */
  async command(title) {
    await this.page.keyboard.press("F1");
    await this.page.locator(".quick-input-widget input").fill(`>${title}`);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().waitFor();
    await this.page.keyboard.press("Enter");
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  }

  /** The rows of the Problems panel as text, once there are `count` of them that match. */
  async problemRows(pattern, count, milliseconds = 25_000) {
    if (!(await this.page.locator(".markers-panel").isVisible())) {
      await this.focus();
      await this.page.keyboard.press("Control+Shift+M");
    }
    return until(async () => {
      const rows = (await this.problems.allInnerTexts()).filter((row) => pattern.test(row));
      return rows.length === count && rows;
    }, `${count} problems like ${pattern}`, milliseconds, async () => JSON.stringify(await this.problems.allInnerTexts()));
  }

  async screenshot(path) {
    await this.page.screenshot({ path });
    say("wrote", path);
  }

  onDisk(name) {
    return readFileSync(join(this.plan.folder, name), "utf8");
  }
}

/** Waits until `read()` gives something; `now()` tells what there was instead. */
export async function until(read, what, milliseconds = 25_000, now = async () => "") {
  const end = Date.now() + milliseconds;
  for (;;) {
    const value = await read();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${milliseconds} ms for ${what}; there was: ${await now()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** This test's processes whose command line matches; the mark of the test is in their environment. */
export function processes(pattern) {
  const mark = `GRAPHMEND_E2E=${process.env.GRAPHMEND_E2E}\0`;
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid)).flatMap((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      return pattern.test(command) && `${readFileSync(`/proc/${pid}/environ`, "utf8")}\0`.includes(mark) ? [{ pid, command }] : [];
    } catch {
      return []; // it has ended meanwhile
    }
  });
}

/** The plan that the test gives as JSON in the first argument. */
export const readPlan = () => JSON.parse(process.argv[2]);

function startCodeServer(plan, port) {
  for (const place of ["User", "Machine"]) {
    mkdirSync(join(plan.data, place), { recursive: true });
    writeFileSync(join(plan.data, place, "settings.json"), JSON.stringify({ ...QUIET, ...plan.settings }));
  }
  const child = spawn(
    process.execPath,
    [
      join(plan.codeServer, "out/node/entry.js"), "--auth", "none", "--bind-addr", `127.0.0.1:${port}`,
      "--user-data-dir", plan.data, "--extensions-dir", plan.extensions, "--config", join(plan.data, "config.yaml"),
      "--disable-telemetry", "--disable-update-check", "--disable-getting-started-override", "--ignore-last-opened",
      ...(plan.trust ? ["--disable-workspace-trust"] : []),
    ],
    { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, HOME: plan.data } },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const ready = until(
    async () => (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined))?.ok, "code-server", 20_000, async () => output,
  );
  const stop = async () => {
    child.kill("SIGTERM");
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 3_000))]);
    child.kill("SIGKILL");
  };
  return { ready, stop, output: () => output };
}

/** Settings that keep everything but the editor and GraphMend out of the picture. */
const QUIET = {
  "chat.disableAIFeatures": true,
  "extensions.autoUpdate": false,
  "extensions.ignoreRecommendations": true,
  "telemetry.telemetryLevel": "off",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "editor.minimap.enabled": false,
  "files.autoSave": "off",
  "git.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "security.workspace.trust.startupPrompt": "never",
  "security.workspace.trust.banner": "never",
};

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
