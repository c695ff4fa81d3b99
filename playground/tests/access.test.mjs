// For the keyboard, the screen reader, the phone and the dark.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { browser, built, choose, fill, opens, packageFile, PHONE, SCREEN, server, shown, told, visit } from "./world.mjs";

opens();
const screenshots = process.env.PLAYGROUND_SCREENSHOTS;
const axe = await readFile(packageFile("axe-core/axe.min.js"), "utf8");

const EXAMPLES = { renders: "flip", manifest: "mend", review: "patched" };

async function picture(page, name, fullPage = true) {
  if (screenshots) await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage });
}

/** Everything of the page is open: folded parts, errors, the link. */
async function unfold(page) {
  await page.$$eval("main details", (all) => all.forEach((details) => { details.open = true; }));
}

for (const scheme of ["light", "dark"]) {
  for (const [door, example] of Object.entries(EXAMPLES)) {
    test(`axe-core finds nothing: ${door}, ${scheme}`, async () => {
      const { page, close } = await visit(browser, server.origin, { scheme });
      await told(page, /denied/);
      await choose(page, example);
      await told(page, /denied|mended/);
      await new Promise((resolve) => setTimeout(resolve, 300));
      await picture(page, `${door}-${scheme}`);
      await unfold(page);
      await page.bringToFront();
      await page.click("#command");
      await page.evaluate(axe);
      const found = async () => (await page.evaluate(() => window.axe.run())).violations
        .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`);
      assert.deepEqual(await found(), []);
      await fill(page, "settings", "rules: {a: b}");
      await told(page, /error/);
      assert.deepEqual(await found(), [], "with errors");
      await page.click("#link");
      await page.waitForFunction(() => document.getElementById("secrets").open);
      assert.deepEqual(await found(), [], "with the dialog");
      await picture(page, `${door}-${scheme}-dialog`, false);
      await close();
    });
  }
}

test("every door can be walked through by the keyboard alone", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  const focused = () => page.evaluate(() => {
    const { id, tagName, className, textContent, dataset } = document.activeElement;
    const isSeen = document.activeElement.checkVisibility() && document.activeElement.getBoundingClientRect().width > 1;
    const { outlineStyle } = getComputedStyle(document.activeElement);
    const isMarked = outlineStyle !== "none" || getComputedStyle(document.activeElement.parentElement).outlineStyle !== "none";
    return { id, tagName, className, text: textContent.slice(0, 60), input: document.activeElement.closest("[data-input]")?.dataset.input, isSeen, isMarked };
  });
  const walk = async (steps = 80) => {
    const met = [];
    for (let step = 0; step < steps; step += 1) {
      await page.keyboard.press("Tab");
      const here = await focused();
      if (here.tagName === "BODY") break;
      assert.ok(here.isSeen && here.isMarked, `the focus cannot be seen: ${JSON.stringify(here)}`);
      met.push(here);
    }
    return met;
  };
  const reaches = (met, what) => assert.ok(met.some(what), `not met: ${what}\n${met.map(({ tagName, id, text }) => `${tagName} ${id} ${text}`).join("\n")}`);
  for (const [door, inputs] of [["renders", ["before", "after"]], ["manifest", ["manifest"]], ["review", ["review"]]]) {
    await page.focus(`#tab-${door}`);
    const met = await walk();
    reaches(met, ({ id }) => id === "example");
    reaches(met, ({ id }) => id === "link");
    reaches(met, ({ id }) => id === "command");
    for (const input of inputs) reaches(met, (here) => here.tagName === "TEXTAREA" && here.input === input);
    reaches(met, ({ tagName, text }) => tagName === "SUMMARY" && text === "Settings");
    reaches(met, ({ className }) => className === "place");
    reaches(met, ({ tagName, className }) => tagName === "PRE" && className.includes("paper-text"));
    await page.focus(`#tab-${door}`);
    await page.keyboard.press("ArrowRight");
    await told(page, /denied|mended/);
  }
  assert.equal((await focused()).id, "tab-renders", "the arrows go round");
  await page.keyboard.press("End");
  assert.equal((await focused()).id, "tab-review");
  await page.keyboard.press("ArrowRight");
  assert.equal((await focused()).id, "tab-renders");
  await page.keyboard.press("ArrowLeft");
  assert.equal((await focused()).id, "tab-review");
  await page.keyboard.press("Home");
  assert.equal((await focused()).id, "tab-renders");
  const isTaken = await page.$eval("#tab-renders", (tab) => ["altKey", "ctrlKey", "metaKey", "shiftKey"].map((held) => {
    const event = new KeyboardEvent("keydown", { key: "ArrowLeft", [held]: true, bubbles: true, cancelable: true });
    tab.dispatchEvent(event);
    return event.defaultPrevented;
  }));
  assert.deepEqual(isTaken, [false, false, false, false], "Alt and an arrow are the browser's");
  assert.equal((await focused()).id, "tab-renders");
  await close();
});

test("by the keyboard a mark leads into the text, and a text area lets the tab key go", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  await page.focus(".finding .place");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "TEXTAREA");
  await page.keyboard.press("Tab");
  assert.notEqual(await page.evaluate(() => document.activeElement.tagName), "TEXTAREA");
  await close();
});

test("what came out is told politely, and each part has its name", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  await choose(page, "first-sync");
  await page.waitForFunction(() => document.querySelector('[data-input="before"] label').textContent.includes("sync"));
  const tree = JSON.stringify(await page.accessibility.snapshot({ interestingOnly: false }));
  for (const name of ["What is judged", "Two renders", "Before: the first sync", "After: the next sync", "Open a file as After: the next sync", "Settings"]) {
    assert.ok(tree.includes(JSON.stringify(name)), `no part is called ${name}`);
  }
  await choose(page, "missing-dependency");
  await told(page, /2 denied/);
  assert.deepEqual(await page.$eval("#status", (status) => [status.getAttribute("role"), status.textContent]), ["status", "✕ 2 denied"]);
  assert.deepEqual(await page.$$eval("[role=tab]", (tabs) => tabs.map((tab) => [tab.getAttribute("aria-selected"), tab.tabIndex])), [["true", 0], ["false", -1], ["false", -1]]);
  await close();
});

test("a trouble is read out once, not with every answer", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  const written = () => page.evaluate(() => window.written);
  await page.evaluate(() => {
    window.written = 0;
    new MutationObserver((changes) => { window.written += changes.length; }).observe(document.getElementById("trouble"), { childList: true, characterData: true, subtree: true, attributes: true });
  });
  await fill(page, "after", await built("examples/flip/install.yaml"));
  await told(page, /Nothing to object to/);
  await fill(page, "after", await built("examples/flip/upgrade.yaml"));
  await told(page, /1 denied/);
  assert.equal(await written(), 0);
  await close();
});

test("a phone's width needs no sideways scrolling", async () => {
  const { page, close } = await visit(browser, server.origin, { viewport: PHONE });
  await told(page, /1 denied/);
  const fits = async (what) => {
    const wide = await page.evaluate(() => [document.documentElement.scrollWidth, document.body.scrollWidth]);
    assert.deepEqual(wide, [PHONE.width, PHONE.width], what);
  };
  for (const [door, example] of Object.entries(EXAMPLES)) {
    await choose(page, example);
    await told(page, /denied|mended/);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await picture(page, `${door}-phone`);
    await unfold(page);
    await fits(door);
  }
  await choose(page, "flip");
  await told(page, /1 denied/);
  await page.click("#command");
  await fits("a command");
  const long = "x".repeat(3_000);
  await fill(page, "after", (await built("examples/flip/upgrade.yaml")).replaceAll("orders-migrations", long));
  await page.waitForFunction(() => document.querySelector("#panel-renders .answer").innerText.includes("xxxxx"));
  await fits("a long name");
  await fill(page, "before", `apiVersion: v1\nkind: Secret\nmetadata: {name: ${long}}\nstringData: {password: a}\n`);
  await told(page, /2 denied/);
  await page.click("#link");
  await page.waitForFunction(() => document.getElementById("secrets").open);
  await fits("the dialog");
  await close();
});

test("no colour alone says what is denied", async () => {
  const { page, close } = await visit(browser, server.origin, { viewport: SCREEN });
  await told(page, /1 denied/);
  const signs = { deny: /✕ 1 denied/, warn: /! 1 warning/ };
  for (const [level, status] of Object.entries(signs)) {
    await fill(page, "settings", `rules: {release-identity-flip: ${level}}`);
    await told(page, status);
    const sign = status.source[0];
    assert.ok((await shown(page)).includes(`${sign} ${level}`));
    assert.ok((await page.$eval('[data-input="after"] .numbers', (numbers) => numbers.innerText)).includes(`${sign} 48`));
  }
  await close();
});
