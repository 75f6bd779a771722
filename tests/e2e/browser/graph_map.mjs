// The graph map's page as a person meets it: plan {page, chromium, out, graphs, pieces, places}.

import assert from "node:assert/strict";
import { join } from "node:path";
import { chromium } from "playwright-core";

const plan = JSON.parse(process.argv[2]);
const browser = await chromium.launch({
  executablePath: plan.chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
let page;
try {
  for (const colorScheme of ["light", "dark"]) await look(colorScheme);
  console.log("PASS");
} catch (error) {
  process.exitCode = 1;
  console.error(error);
  await page?.screenshot({ path: join(plan.out, "failure.png") });
} finally {
  await browser.close();
}

async function look(colorScheme) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 800 }, colorScheme });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text())); // what the policy refuses is said here
  page.on("request", (request) => request.url() !== plan.page && wrong.push(request.url()));

  const begun = Date.now();
  await page.goto(plan.page);
  const strip = page.getByRole("list", { name: new RegExp(`^eval: ${plan.graphs} graphs \\(\\d+ operators\\)`) });
  await strip.waitFor();
  const drawn = Date.now() - begun;
  assert.ok(drawn < 15_000, `drawn after ${drawn} ms`);
  console.log(`${plan.graphs} graphs, ${colorScheme}: drawn after ${drawn} ms`);

  // What is drawn, and what it is called.
  const pieces = strip.getByRole("button");
  assert.equal(await pieces.count(), plan.pieces);
  assert.equal(await page.getByRole("list", { name: /^train: / }).getByRole("button").count(), plan.pieces);
  await page.getByRole("heading", { level: 1, name: "Graph map" }).waitFor();
  await page.getByRole("heading", { level: 2, name: "größe net.py:f" }).waitFor();
  assert.equal(await page.getByRole("list", { name: "Graph breaks of größe net.py:f" }).locator(":scope > li").count(), plan.places);
  const names = await pieces.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
  assert.equal(names[0], `Graph 1 of ${plan.graphs}: 1 operator in Net.forward, größe net.py:3`);
  assert.equal(names[1], "Graph break 1: GB0170, größe net.py:10, if x[0].sum() > 0:");
  assert.equal(names[2], "Net.forward runs uncompiled: lines 3 to 90 of größe net.py");
  assert.ok(await widthOf(pieces.last()) > await widthOf(pieces.first()), "a graph with more operators is not wider");

  // The keyboard: one stop for the strip, arrows within it.
  assert.equal(await strip.locator("button[tabindex='0']").count(), 1);
  const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  await page.keyboard.press("Tab");
  assert.equal(await focused(), names[0]);
  for (const [key, expected] of [["ArrowRight", 1], ["ArrowRight", 2], ["ArrowLeft", 1], ["Home", 0], ["n", 1], ["n", 4], ["p", 1], ["End", plan.pieces - 1]]) {
    await page.keyboard.press(key);
    assert.equal(await focused(), names[expected], `after ${key}`);
  }
  await page.keyboard.press("Tab");
  assert.match(await focused(), /^Graph 1 of/);
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("p");
  await page.keyboard.press("Enter");
  const card = page.locator("[aria-current='true']");
  await card.waitFor();
  assert.equal(await card.count(), 1);
  assert.ok(await card.evaluate((one) => {
    const { top, bottom } = one.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight + 1;
  }), "the card of the break is not in sight");

  // Its source: a link for an editor, and a path to copy; libraries folded.
  assert.match(await card.getByRole("link", { name: /^größe net\.py:\d+$/ }).first().getAttribute("href"), /^vscode:\/\/file\/p\/gr%C3%B6%C3%9Fe%20net\.py:\d+:5$/);
  await card.getByRole("button", { name: /^Copy the path/ }).first().click();
  await card.getByText("copied").waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^\/p\/größe net\.py:\d+:5$/);
  assert.equal(await card.getByText("call11").isVisible(), false);
  await card.getByText("Reached through 13 calls").click();
  await card.getByText("lib: 12 calls").waitFor();
  assert.equal(await card.getByText("call11").isVisible(), false);
  await card.getByText("lib: 12 calls").click();
  assert.equal(await card.getByText("call11").isVisible(), true);

  // Text can be read in this theme, and nothing is wider than the window, down to a phone's.
  for (const selector of [".graph > .piece", ".break > .piece", ".card p", "h3 .quiet", ".card h4 a", ".legend .quiet"]) {
    const contrast = await page.locator(selector).first().evaluate(contrastOf);
    assert.ok(contrast >= 4.5, `${selector} in ${colorScheme}: contrast ${contrast.toFixed(2)}`);
  }
  for (const width of [1100, 360]) {
    await page.setViewportSize({ width, height: 800 });
    assert.equal(await page.evaluate(() => document.scrollingElement.scrollWidth <= innerWidth), true, `wider than ${width}`);
  }
  assert.deepEqual(wrong, []);
  await context.close();
}

async function widthOf(piece) {
  return (await piece.boundingBox()).width;
}

/** WCAG's contrast of an element's text on the nearest background; runs in the page. */
function contrastOf(element) {
  const read = (color) => color.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, index) => sum + one * [0.2126, 0.7152, 0.0722][index], 0);
  let back = element;
  while (read(getComputedStyle(back).backgroundColor)[3] === 0) back = back.parentElement;
  const [one, other] = [light(read(getComputedStyle(element).color)), light(read(getComputedStyle(back).backgroundColor))].sort((a, b) => b - a);
  return (one + 0.05) / (other + 0.05);
}
