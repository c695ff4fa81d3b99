// Each door with each of its examples, and what one types there.

import assert from "node:assert/strict";
import { test } from "node:test";

import { browser, built, choose, drop, fill, opens, recordOf, serve, server, shown, told, visit } from "./world.mjs";

opens();

/** What each example must show. */
const EXPECTED = {
  flip: { status: /1 denied/, rules: ["release-identity-flip"], says: /it is gone/ },
  cure: { status: /Nothing to object to/, rules: [], says: /✓ allowed/ },
  "never-deleted": { status: /1 denied/, rules: ["hook-never-deleted"], says: /already exists/ },
  "missing-dependency": { status: /2 denied/, rules: ["hook-missing-dependency"], says: /needs ServiceAccount orders-migrations/ },
  "first-sync": { status: /2 denied, 1 warning/, rules: ["argocd-first-sync", "argocd-runs-twice"], says: /the first sync never ends/ },
  mend: { status: /mended by the patch/, rules: ["hook-delete-policy", "hook-events"], says: /3 lines out, 3 in/ },
  patched: { status: /2 mended by the patch/, rules: ["hook-events", "hook-weight"], says: /✓ same bytes/ },
  denied: { status: /1 denied/, rules: ["hook-delete-policy", "identity-flip"], says: /✓ same bytes/ },
};

test("the first screen has the flip and its picture", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  await page.waitForFunction(() => document.querySelector(".picture img")?.naturalWidth > 0);
  const { top, alt } = await page.$eval(".picture img", (image) => ({ top: image.getBoundingClientRect().top, alt: image.alt }));
  assert.ok(top < 400, `the picture begins at ${top}`);
  assert.match(alt, /Job default\/orders-migrations, release-identity-flip/);
  const times = await page.evaluate(() => Object.fromEntries(["answered", "pictured"].map((name) => [name, performance.getEntriesByName(name)[0]?.startTime])));
  console.log(`answered after ${Math.round(times.answered)} ms, the picture stood after ${Math.round(times.pictured)} ms`);
  await close();
});

test("each example shows its rules and its verdict", async (t) => {
  const { page, complaints, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  const examples = JSON.parse(await built("examples/examples.json"));
  assert.deepEqual(examples.map(({ id }) => id), Object.keys(EXPECTED));
  for (const { id, door, title } of examples) {
    await t.test(title, async () => {
      const { status, rules, says } = EXPECTED[id];
      await choose(page, id);
      await told(page, status);
      assert.match(await shown(page), says);
      const links = await page.$$eval(".panel:not([hidden]) .finding-head a", (all) => all.map((link) => [link.textContent, link.href]));
      assert.deepEqual([...new Set(links.map(([rule]) => rule))].sort(), rules);
      for (const [rule, href] of links) assert.equal(href, `https://github.com/stable-hooks/stable-hooks/blob/main/docs/rules/${rule}.md`);
      assert.equal(await page.$$eval(".panel:not([hidden]) .picture img", (images) => images.length), door === "renders" ? 1 : 0);
    });
  }
  assert.deepEqual(complaints, []);
  await close();
});

test("a mark and a finding put the caret into the text", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  const caret = () => page.evaluate(() => {
    const { value, selectionStart, dataset } = document.activeElement;
    return value?.slice(0, selectionStart).split("\n").length;
  });
  for (const place of [".finding .place", ".remark .place"]) {
    const text = await page.$$eval(place, (buttons) => buttons.at(-1).textContent);
    await page.$$eval(place, (buttons) => buttons.at(-1).click());
    assert.equal(await caret(), Number(text.match(/line (\d+)/)[1]));
    assert.equal(await page.evaluate(() => document.activeElement.closest("[data-input]")?.dataset.input), "after");
  }
  assert.match(await page.$eval('[data-input="after"] .numbers', (numbers) => numbers.innerText), /✕ 48/);
  await close();
});

test("it answers while one types", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  const cure = await built("examples/flip/install.yaml");
  await fill(page, "after", cure);
  await told(page, /Nothing to object to/);
  await page.focus('[data-input="after"] textarea');
  await page.keyboard.down("Control");
  await page.keyboard.press("End");
  await page.keyboard.up("Control");
  await page.keyboard.type("---\nnot: [closed");
  await told(page, /error/);
  assert.match(await page.$eval('[data-input="after"] .errors', (errors) => errors.innerText), /line \d+/);
  assert.equal(await page.$eval('[data-input="after"] textarea', (area) => area.getAttribute("aria-invalid")), "true");
  assert.equal(await page.$eval("#example", (select) => select.value), "", "it is the example no more");
  await fill(page, "after", cure);
  await fill(page, "settings", "rules: [");
  await told(page, /1 error/);
  assert.match(await page.$eval(".picture", (place) => place.innerText), /The last text that could be judged/);
  await fill(page, "settings", "");
  await told(page, /Nothing to object to/);
  assert.match(await page.$eval(".picture", (place) => place.innerText), /Download the picture/);
  await close();
});

test("the newest text wins", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  const [install, upgrade] = [await built("examples/flip/install.yaml"), await built("examples/flip/upgrade.yaml")];
  for (let turn = 0; turn < 6; turn += 1) {
    await fill(page, "after", turn % 2 === 0 ? upgrade : install);
    await new Promise((resolve) => setTimeout(resolve, 260));
  }
  await told(page, /Nothing to object to/);
  await new Promise((resolve) => setTimeout(resolve, 800));
  await told(page, /Nothing to object to/);
  await close();
});

test("a missing render is asked for", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  await fill(page, "after", "");
  await told(page, /The other render is missing/);
  assert.equal(await page.$(".picture img"), null);
  await fill(page, "before", "");
  await told(page, /Nothing to judge yet/);
  await close();
});

test("a late answer is not shown for a text that is gone", async () => {
  const code = await built("worker.js");
  const slow = await serve({ "/worker.js": code.replace("await ready;\n", "await ready;\n    await new Promise((resolve) => setTimeout(resolve, 800));\n") });
  const { page, close } = await visit(browser, slow.origin);
  await told(page, /1 denied/);
  await fill(page, "after", await built("examples/cure/upgrade.yaml"));
  await new Promise((resolve) => setTimeout(resolve, 400));
  await fill(page, "after", "");
  await told(page, /The other render is missing/);
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  await told(page, /The other render is missing/);
  assert.equal(await page.$(".picture img"), null);
  await close();
  await slow.close();
});

test("settings that are wrong are told beside the settings", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  for (const [tab, door] of [["#tab-renders", "renders"], ["#tab-manifest", "manifest"], ["#tab-review", "review"]]) {
    await page.click(tab);
    await page.waitForFunction((name) => !document.getElementById(`panel-${name}`).hidden, {}, door);
    await told(page, /denied|mended/);
    await fill(page, "settings", "rules:\n  hook-wait: deny\n");
    await told(page, /1 error/);
    const errors = `#panel-${door} [data-input="settings"] .errors`;
    await page.waitForFunction((at) => document.querySelector(at).checkVisibility(), {}, errors);
    assert.match(await page.$eval(errors, (element) => element.innerText), /rules\.hook-wait: unknown field/);
    await fill(page, "settings", "");
    await told(page, /denied|mended/);
  }
  await close();
});

test("settings and switches count", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  await page.click("#renders-argocd");
  await page.waitForFunction(() => document.querySelector('[data-input="before"] label').textContent === "Before: the first sync");
  await told(page, /1 warning/);
  await choose(page, "mend");
  await told(page, /mended/);
  await page.click("#manifest-completeEvents");
  await page.waitForFunction(() => document.querySelector("#panel-manifest .shown").innerText.includes("4 lines out, 4 in"));
  await choose(page, "patched");
  await told(page, /2 mended/);
  await fill(page, "settings", "mutate: false");
  await told(page, /2 warnings/);
  await close();
});

test("fix's changes are a diff, and can be taken", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  await choose(page, "mend");
  await told(page, /mended/);
  const diff = await page.$$eval(".diff del, .diff ins", (lines) => lines.map((line) => line.textContent.trim()));
  assert.deepEqual(diff.slice(0, 2), ["-    helm.sh/hook-delete-policy: hook-failed", "+    helm.sh/hook-delete-policy: before-hook-creation,hook-failed"]
    .map((line) => line.trim()));
  assert.match(await page.$eval(".remarks", (list) => list.innerText), /It stays as it is/);
  await page.evaluate(() => [...document.querySelectorAll("button")].find((button) => button.textContent === "Take the mended text").click());
  await page.waitForFunction(() => document.querySelector("#panel-manifest .shown").innerText.includes("fix would change nothing here."));
  await close();
});

test("the module is loaded when its door is opened first, and answers as the core does", async () => {
  const { page, requests, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  const loads = () => requests.filter((url) => url.endsWith("annotated-policy.wasm")).length;
  assert.equal(loads(), 0);
  await page.click("#tab-review");
  await told(page, /2 mended/);
  assert.match(await shown(page), /✓ same bytes/);
  assert.equal(loads(), 1);
  assert.match(await shown(page), /"op": "replace"/);
  await fill(page, "review", (await built("examples/patched/review.json")).replace('"pre-upgrade"', '"pre-install"'));
  await page.waitForFunction(() => document.querySelector("#panel-review .shown").innerText.includes('is "pre-install"'));
  assert.match(await shown(page), /✓ same bytes/);
  assert.equal(loads(), 1);
  await close();
});

test("the record of a release is answered alike, though there is no cluster to ask", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  await choose(page, "patched");
  await fill(page, "review", JSON.stringify(recordOf(await built("examples/flip/upgrade.yaml"))));
  await page.waitForFunction(() => document.querySelector("#panel-review .answer").innerText.includes("sh.helm.release.v1.orders.v2"));
  assert.match(await shown(page), /✓ same bytes/);
  await close();
});

test("files are dropped, and what is no text is told", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  const note = () => page.$eval('[data-input="after"] .note', (element) => element.innerText);
  await drop(page, "after", "same.yaml", await built("examples/flip/install.yaml"));
  await told(page, /Nothing to object to/);
  await drop(page, "after", "orders.tgz", Uint8Array.of(0x1f, 0x8b, 8, 0));
  await page.waitForFunction(() => document.querySelector('[data-input="after"] .note').innerText !== "");
  assert.match(await note(), /orders\.tgz is compressed/);
  await drop(page, "after", "noise", Uint8Array.of(1, 0, 2));
  await page.waitForFunction(() => document.querySelector('[data-input="after"] .note').innerText.includes("noise"));
  assert.match(await note(), /noise is no text/);
  await drop(page, "after", "latin", Uint8Array.of(0xe4, 0xf6));
  await page.waitForFunction(() => document.querySelector('[data-input="after"] .note').innerText.includes("latin"));
  assert.match(await note(), /latin is no text in UTF-8/);
  await drop(page, "after", "wide", Uint8Array.of(0xff, 0xfe, 0x61, 0));
  await page.waitForFunction(() => document.querySelector('[data-input="after"] .note').innerText.includes("wide"));
  assert.match(await note(), /wide is in UTF-16/);
  await told(page, /Nothing to object to/);
  await close();
});

test("a text that is dragged is the browser's to drop", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  await fill(page, "after", "first\nsecond\nthird\n");
  const drag = (selector, text) => page.$eval(selector, (target, data) => {
    const transfer = new DataTransfer();
    transfer.setData("text/plain", data);
    return ["dragenter", "dragover", "drop"].map((type) => {
      const event = new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true });
      target.dispatchEvent(event);
      return event.defaultPrevented;
    });
  }, text);
  assert.deepEqual(await drag('[data-input="after"] textarea', "second"), [false, false, false]);
  assert.equal(await page.$eval('[data-input="after"] textarea', (area) => area.value), "first\nsecond\nthird\n");
  assert.deepEqual(await drag("h1", "https://example.org/"), [false, true, true]);

  const [from, to] = await page.$eval('[data-input="after"] textarea', (area) => {
    area.focus();
    area.setSelectionRange(6, 12);
    area.scrollIntoView();
    const { left, top } = area.getBoundingClientRect();
    const { paddingLeft, paddingTop, lineHeight } = getComputedStyle(area);
    const at = (line) => ({ x: left + parseFloat(paddingLeft) + 12, y: top + parseFloat(paddingTop) + parseFloat(lineHeight) * (line - 0.5) });
    return [at(2), at(3)];
  });
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y, { steps: 10 });
  await page.mouse.up();
  await page.waitForFunction(() => document.querySelector('[data-input="after"] textarea').value !== "first\nsecond\nthird\n");
  const moved = await page.$eval('[data-input="after"] textarea', (area) => area.value);
  assert.match(moved, /^first\n+\w*second\w*\n$/, "it is moved");
  assert.equal(moved.replace("second", "").replace(/\n+/g, "\n"), "first\nthird\n", "the rest stays");
  await close();
});

test("a file with the line ends of Windows has its marks and its caret in their places", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  const text = (await built("examples/flip/upgrade.yaml")).replaceAll("\n", "\r\n");
  await page.evaluate(() => document.getElementById("status").replaceChildren("waiting"));
  await drop(page, "after", "windows.yaml", Buffer.from(text));
  await told(page, /1 denied/);
  await page.waitForSelector(".finding .place");
  const line = Number((await page.$$eval(".finding .place", (places) => places.at(-1).textContent)).match(/line (\d+)/)[1]);
  await page.$$eval(".finding .place", (places) => places.at(-1).click());
  const [before, selected] = await page.evaluate(() => {
    const { value, selectionStart, selectionEnd } = document.querySelector('[data-input="after"] textarea');
    return [value.slice(0, selectionStart), value.slice(selectionStart, selectionEnd)];
  });
  assert.equal(before.split("\n").length, line);
  assert.equal(selected, text.split("\r\n")[line - 1]);
  // What is judged is the file, until it is edited.
  const linked = async () => {
    await page.bringToFront();
    await page.click("#link");
    const link = await page.waitForSelector("#said input.link");
    return page.evaluate(async (fragment) => (await (await import("./link.js")).contentOf(fragment)).after, new URL(await link.evaluate((field) => field.value)).hash);
  };
  assert.equal(await linked(), text);
  await page.focus('[data-input="after"] textarea');
  await page.keyboard.press("ArrowRight");
  await page.keyboard.type(" ");
  await page.waitForFunction(() => document.getElementById("said").innerText === "");
  assert.doesNotMatch(await linked(), /\r/);
  await close();
});

test("an example over one's own text can be taken back", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  await fill(page, "after", "kind: Mine");
  await choose(page, "cure");
  await page.waitForFunction(() => document.querySelector("#said button"));
  await page.click("#said button");
  assert.equal(await page.$eval('[data-input="after"] textarea', (area) => area.value), "kind: Mine");
  await close();
});

const SLOW = 1_000;
const resting = (time) => new Promise((resolve) => setTimeout(resolve, time));
const slowly = (path) => async () => {
  await resting(SLOW);
  return built(path);
};

test("an example that comes late neither overwrites a text nor pulls the reader away", async () => {
  const slow = await serve(Object.fromEntries(["cure/upgrade.yaml", "mend/manifest.yaml"].map((file) => [`/examples/${file}`, slowly(`examples/${file}`)])));
  const { page, close } = await visit(browser, slow.origin);
  await told(page, /1 denied/);
  const after = () => page.$eval('[data-input="after"] textarea', (area) => area.value);
  await page.select("#example", "cure");
  await fill(page, "after", "kind: Mine");
  await resting(1.5 * SLOW);
  assert.equal(await after(), "kind: Mine");
  assert.equal(await page.$eval("#example", (select) => select.value), "");

  await page.select("#example", "mend");
  await page.click("#tab-review");
  await resting(1.5 * SLOW);
  assert.equal(await page.$eval("#tab-review", (tab) => tab.getAttribute("aria-selected")), "true");
  await told(page, /2 mended/);

  await page.click("#tab-manifest");
  await fill(page, "manifest", "kind: Mine");
  await resting(1.5 * SLOW);
  assert.equal(await page.$eval('[data-input="manifest"] textarea', (area) => area.value), "kind: Mine");
  await page.click("#tab-renders");
  await page.click("#tab-manifest");
  await resting(1.5 * SLOW);
  assert.equal(await page.$eval('[data-input="manifest"] textarea', (area) => area.value), "kind: Mine", "a door that is not empty needs no first example");
  await close();
  await slow.close();
});

test("whoever is quicker than the first example keeps the text and the door", async () => {
  const slow = await serve({ "/examples/flip/upgrade.yaml": slowly("examples/flip/upgrade.yaml"), "/examples/examples.json": slowly("examples/examples.json") });
  const { page, close } = await visit(browser, slow.origin);
  await fill(page, "before", "kind: Mine");
  await page.click("#tab-manifest");
  await told(page, /mended/);
  assert.equal(await page.$eval("#tab-manifest", (tab) => tab.getAttribute("aria-selected")), "true");
  await page.click("#tab-renders");
  await resting(1.5 * SLOW);
  assert.equal(await page.$eval('[data-input="before"] textarea', (area) => area.value), "kind: Mine");
  await told(page, /The other render is missing/);
  await close();
  await slow.close();
});

test("an example that cannot be loaded is told, and the door lives", async () => {
  const missing = () => { throw new Error("missing"); };
  const broken = await serve({ "/examples/flip/upgrade.yaml": missing, "/examples/mend/manifest.yaml": missing });
  const { page, close } = await visit(browser, broken.origin);
  await told(page, /Nothing to judge yet/);
  assert.match(await page.$eval("#trouble", (trouble) => trouble.innerText), /The example could not be loaded \(.*404\)/);
  await choose(page, "cure");
  await told(page, /Nothing to object to/);
  await page.select("#example", "mend");
  await page.waitForFunction(() => !document.getElementById("trouble").hidden);
  await told(page, /Nothing to object to/);
  assert.equal(await page.$eval("#example", (select) => select.value), "cure");
  assert.equal(await page.$eval("#tab-renders", (tab) => tab.getAttribute("aria-selected")), "true");
  await close();
  await broken.close();
});

test("the command line's equivalent is copied", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /1 denied/);
  const copied = async () => {
    await page.click("#command");
    await page.waitForFunction(() => document.getElementById("said").innerText.includes("The command is copied."));
    return page.evaluate(() => navigator.clipboard.readText());
  };
  await page.bringToFront();
  assert.equal(await copied(), "stable-hooks chart --install install.yaml --upgrade upgrade.yaml\nstable-hooks timeline --install install.yaml --upgrade upgrade.yaml -o svg >timeline.svg");
  assert.match(await shown(page), /helm template orders \.\/chart --is-upgrade >upgrade\.yaml/);
  await choose(page, "first-sync");
  assert.match(await copied(), /^stable-hooks chart --install install\.yaml --upgrade upgrade\.yaml --argocd\n/);
  await choose(page, "mend");
  await page.click("#manifest-completeEvents");
  assert.equal(await copied(), "stable-hooks fix manifest.yaml --complete-events\nstable-hooks review manifest.yaml");
  await choose(page, "patched");
  assert.equal(await copied(), "stable-hooks review review.json --policy annotated-policy.wasm --settings settings.yaml");
  await close();
});
