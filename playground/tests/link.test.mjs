// A link that carries the texts, and what it must not carry unasked.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";

import { browser, built, choose, fill, opens, server, told, visit } from "./world.mjs";

opens();

const isOpen = (page) => page.$eval("#secrets", (dialog) => dialog.open);
const texts = (page) => page.$$eval(".panel:not([hidden]) textarea", (areas) => areas.map((area) => area.value));
const fragment = (text) => `#v1.${deflateRawSync(text).toString("base64url")}`;

async function pressed(page) {
  await page.bringToFront();
  await page.click("#link");
  await page.waitForFunction(() => document.getElementById("secrets").open || !/Making a link/.test(document.getElementById("said").innerText));
}

async function copied(page) {
  await page.waitForSelector("#said input.link");
  const link = await page.$eval("#said input.link", (field) => field.value);
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), link);
  return link;
}

test("a link is made on a click, and opens what it was made of", async () => {
  const { page, requests, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  await choose(page, "mend");
  await page.click("#manifest-completeEvents");
  await told(page, /mended/);
  await fill(page, "settings", "mutate: false # ü😀");
  await told(page, /warning/);
  assert.equal(new URL(page.url()).hash, "", "nothing goes into the address by itself");
  const before = await texts(page);
  await pressed(page);
  assert.equal(await isOpen(page), false);
  const link = await copied(page);
  assert.match(link, /#v1\.[\w-]+$/);

  const other = await visit(browser, server.origin, { hash: new URL(link).hash });
  await told(other.page, /warning/);
  assert.deepEqual(await texts(other.page), before);
  assert.equal(await other.page.$eval("#tab-manifest", (tab) => tab.getAttribute("aria-selected")), "true");
  assert.equal(await other.page.$eval("#manifest-completeEvents", (box) => box.checked), true);
  assert.ok(server.asked.every((url) => !url.includes("v1.")), "a fragment is sent to nobody");
  await fill(other.page, "settings", "");
  assert.equal(new URL(other.page.url()).hash, "", "it is not what the link says any more");
  await other.close();

  await page.evaluate((hash) => { location.hash = hash; }, fragment(JSON.stringify({ door: "review", review: "kind: Mine" })));
  await page.waitForFunction(() => document.querySelector('[data-input="review"] textarea').value === "kind: Mine");
  assert.ok(requests.every((url) => url.startsWith(server.origin) || url.startsWith("blob:")));
  await close();
});

test("a link that is opened over one's own text gives it back, and can be opened again", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  const hash = fragment(JSON.stringify({ door: "renders", before: "kind: Theirs", after: "kind: Theirs" }));
  const before = () => page.$eval('[data-input="before"] textarea', (area) => area.value);
  const follow = async () => {
    await page.evaluate((link) => {
      const anchor = document.createElement("a");
      anchor.href = link;
      document.body.append(anchor);
      anchor.click();
      anchor.remove();
    }, hash);
    await page.waitForFunction(() => document.querySelector('[data-input="before"] textarea').value === "kind: Theirs");
    await page.waitForFunction(() => document.getElementById("said").innerText.startsWith("The link is open."));
    assert.equal(new URL(page.url()).hash, hash);
  };
  await follow();
  assert.equal(await page.$("#said button"), null, "an example is nobody's own text");
  await choose(page, "cure");
  assert.equal(new URL(page.url()).hash, "", "it is not what the link says any more");
  await follow();
  await fill(page, "before", "kind: Mine");
  await follow();
  await page.click("#said button");
  assert.equal(await before(), "kind: Mine");
  assert.equal(new URL(page.url()).hash, "");
  await follow();
  await close();
});

const SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: orders-db}\ndata: {password: aHVudGVyMg==}\n";

test("what looks like a secret is listed, and goes into no link unasked", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  await fill(page, "before", `${await built("examples/flip/install.yaml")}---\n${SECRET}`);
  await pressed(page);
  assert.equal(await isOpen(page), true);
  assert.match(await page.$eval("#secrets-list", (list) => list.innerText), /Before: the install, line \d+: Secret orders-db$/m);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "No link");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.getElementById("said").innerText === "No link was made.");
  assert.equal(await page.$("#said input.link"), null);

  await pressed(page);
  await page.click('#secrets button[value="cancel"]');
  await page.waitForFunction(() => document.getElementById("said").innerText === "No link was made.");

  await pressed(page);
  await page.click('#secrets button[value="confirm"]');
  await copied(page);
  await close();
});

test("a text that could not be read is asked about", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  await page.click("#tab-manifest");
  await told(page, /mended/);
  await fill(page, "manifest", "kind: [Secret");
  await pressed(page);
  assert.equal(await isOpen(page), true);
  assert.match(await page.$eval("#secrets-list", (list) => list.innerText), /Manifest, or one render: it could not be judged/);
  await page.keyboard.press("Escape");
  await fill(page, "manifest", "kind: ConfigMap");
  await fill(page, "settings", "rules: {a: b}");
  await pressed(page);
  assert.match(await page.$eval("#secrets-list", (list) => list.innerText), /Manifest, or one render: it could not be judged[^]*Settings: it could not be judged/);
  await page.keyboard.press("Escape");
  await page.click("#tab-renders");
  await told(page, /denied/);
  await fill(page, "after", "");
  await pressed(page);
  assert.equal(await isOpen(page), true, "nobody has looked at the one render");
  await close();
});

test("a broken link says what is wrong, and the page lives", async (t) => {
  const bomb = deflateRawSync(`{"door":"manifest","manifest":"${" ".repeat(40 * 1024 * 1024)}"}`).toString("base64url");
  const broken = {
    "cut off": [fragment(JSON.stringify({ door: "manifest", manifest: "a: 1" })).slice(0, 20), /damaged/],
    "no base64": ["#v1.%%%", /damaged/],
    "no JSON": [fragment("door"), /holds no texts of this page/],
    "other JSON": [fragment("[1]"), /holds no texts of this page/],
    "texts that are none": [fragment('{"door":"manifest","manifest":{"a":1}}'), /holds no texts of this page/],
    "a door that is none": [fragment('{"door":"__proto__"}'), /no door of this page/],
    "another version": ["#v7.abc", /another version/],
    "too much": [`#v1.${bomb}`, /more than 32 MiB/],
  };
  for (const [name, [hash, says]] of Object.entries(broken)) {
    await t.test(name, async () => {
      const { page, complaints, close } = await visit(browser, server.origin, { hash });
      await told(page, /1 denied/);
      await page.waitForFunction(() => !document.getElementById("trouble").hidden);
      assert.match(await page.$eval("#trouble", (trouble) => trouble.innerText), says);
      assert.deepEqual(complaints, []);
      await close();
    });
  }
});
