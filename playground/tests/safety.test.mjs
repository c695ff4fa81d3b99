// What comes from outside stays text, nothing leaves the page, and the page lives.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";

import { browser, built, choose, drop, fill, needed, opens, serve, server, shown, told, visit } from "./world.mjs";

opens();

const violations = (page) => page.evaluate(() => window.violations);
/** The page answers to its reader within a moment. */
async function lives(page) {
  await choose(page, "cure");
  await told(page, /Nothing to object to/);
}

test("no code of ours makes markup of a text", async () => {
  const built = needed("PLAYGROUND_BUILT");
  for (const file of (await readdir(built)).filter((name) => name.endsWith(".js"))) {
    const code = await readFile(`${built}/${file}`, "utf8");
    assert.doesNotMatch(code, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|\beval\(|new Function|localStorage|sessionStorage|document\.cookie/, file);
  }
});

test("nothing is asked of anybody else, and nothing at all while one types", async () => {
  const { page, requests, complaints, close } = await visit(browser, server.origin);
  const foreign = () => requests.filter((url) => !url.startsWith(`${server.origin}/`) && !url.startsWith(`blob:${server.origin}/`));
  await told(page, /denied/);
  for (const example of JSON.parse(await built("examples/examples.json"))) {
    await choose(page, example.id);
    await told(page, /denied|mended|object/);
  }
  assert.ok(requests.some((url) => url.endsWith("/annotated-policy.wasm")), "a worker's requests are seen as well");
  assert.deepEqual(foreign(), []);
  await choose(page, "flip");
  await told(page, /1 denied/);
  const loaded = requests.filter((url) => !url.startsWith("blob:")).length;
  await page.focus('[data-input="after"] textarea');
  await page.keyboard.type("# https://example.org/a.yaml\n", { delay: 20 });
  await fill(page, "before", await built("examples/flip/upgrade.yaml"));
  await told(page, /1 warning/);
  await page.click("#link");
  await page.waitForFunction(() => document.getElementById("secrets").open || document.querySelector("#said input"));
  assert.deepEqual(requests.filter((url) => !url.startsWith("blob:")).slice(loaded), []);
  assert.deepEqual(foreign(), []);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("the worker is held by the page's policy", async () => {
  const other = await serve();
  const { page, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  const [worker] = page.workers();
  const refused = await worker.evaluate((url) => new Promise((resolve) => {
    addEventListener("securitypolicyviolation", (event) => resolve(event.violatedDirective));
    fetch(url, { mode: "no-cors" }).then(() => resolve("sent"), () => setTimeout(resolve, 500, "failed"));
  }), `${other.origin}/style.css`);
  assert.equal(refused, "connect-src");
  await close();
  await other.close();
});

test("foreign markup stays text, wherever it is shown", async () => {
  const { page, complaints, close } = await visit(browser, server.origin, {
    before: (page) => page.evaluateOnNewDocument(() => { window.alert = () => { window.hacked = true; }; }),
  });
  await told(page, /denied/);
  const evil = '<img src=x onerror=alert(1)><script>alert(1)</script><b id=evil>';
  const hostile = (text) => text.replaceAll("orders-migrations", evil).replaceAll("orders/templates", `${evil}/templates`);
  const quoted = (text) => hostile(text).replaceAll(`name: ${evil}`, `name: '${evil}'`).replaceAll(`serviceAccountName: ${evil}`, `serviceAccountName: '${evil}'`);
  for (const id of ["flip", "missing-dependency", "never-deleted", "mend"]) {
    await choose(page, id);
    const inputs = await page.$$eval(".panel:not([hidden]) [data-input]", (editors) => editors.map((editor) => [editor.dataset.input, editor.querySelector("textarea").value]));
    await told(page, /denied|mended|object/);
    for (const [input, text] of inputs) if (text !== "") await fill(page, input, quoted(text));
    await page.waitForFunction((text) => document.querySelector(".panel:not([hidden]) .answer").innerText.includes(text), {}, evil.slice(0, 12));
  }
  await choose(page, "patched");
  await fill(page, "review", hostile(await built("examples/patched/review.json")));
  await page.waitForFunction((text) => document.querySelector("#panel-review .answer").innerText.includes(text), {}, evil.slice(0, 12));
  assert.match(await shown(page), /same bytes/);
  await fill(page, "settings", `rules: {"${evil}": deny}`);
  await page.waitForFunction((text) => document.querySelector('#panel-review [data-input="settings"] .errors').innerText.includes(text), {}, evil.slice(0, 12));
  assert.equal(await page.$("#evil"), null);
  assert.deepEqual(await page.$$eval("main img, main script", (elements) => elements.map((element) => element.src).filter((src) => !src.startsWith("blob:"))), []);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await close();
});

test("garbage of every kind is told, and the page lives", async (t) => {
  const { page, complaints, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  const deep = 10_000;
  const garbage = {
    "deep YAML in one line": `a: ${"[".repeat(deep)}${"]".repeat(deep)}`,
    // Each level is a column more: 10,000 would be 48 MiB.
    "deep YAML in lines": Array.from({ length: 3_000 }, (_, level) => `${" ".repeat(level)}a:`).join("\n"),
    "deep JSON": `${'{"a":'.repeat(deep)}1${"}".repeat(deep)}`,
    "an alias bomb": `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghij".split("").map((name, at) => `${name}: &${name} [${Array(9).fill(`*${"abcdefghij"[at]}`).join(",")}]`).join("\n")}`,
    "no YAML": "%&/()= \u0000\u0001\ufffd {{ .Values.x }}",
    "lone surrogates": "kind: \ud800\udc00\ud800",
    "one long line": `kind: ${"x".repeat(400_000)}`,
    "a list of nothing": "- ".repeat(5_000),
    "many documents": "---\nkind: Job\napiVersion: batch/v1\nmetadata: {name: a, annotations: {helm.sh/hook: pre-upgrade}}\n".repeat(2_000),
  };
  for (const door of ["renders", "manifest", "review"]) {
    for (const [name, text] of Object.entries(garbage)) {
      await t.test(`${name} in ${door}`, async () => {
        await page.click(`#tab-${door}`);
        const input = door === "renders" ? "after" : door;
        await page.evaluate(() => document.getElementById("status").replaceChildren("waiting"));
        await fill(page, input, text);
        await told(page, /denied|mended|warning|object|error|judge|No answer/, 45_000);
        const words = await page.$eval("main", (main) => main.innerText);
        assert.doesNotMatch(words, /unreachable|RuntimeError|panicked/, "a trap is no clear message");
      });
    }
  }
  await lives(page);
  assert.deepEqual(complaints, []);
  await close();
});

test("20 MB pasted or dropped do not stop the page", async () => {
  const { page, complaints, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  const one = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  key: some value that takes its room in the text\n";
  const megabytes = 20;
  const longest = async (act) => {
    await page.evaluate(() => {
      window.longest = 0;
      window.observer ??= new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration); });
      window.observer.observe({ entryTypes: ["longtask"] });
    });
    await act();
    return page.evaluate(() => window.longest);
  };
  const paste = () => page.$eval('[data-input="after"] textarea', (area, text, size) => {
    const transfer = new DataTransfer();
    transfer.setData("text/plain", text.repeat(Math.ceil(size / text.length)));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
  }, one, megabytes * 1024 * 1024);
  const block = await longest(async () => {
    await page.evaluate(() => document.getElementById("status").replaceChildren("waiting"));
    await paste();
    await page.waitForFunction(() => /too long to be edited here/.test(document.querySelector('[data-input="after"] .note').innerText));
    await page.waitForFunction(() => document.getElementById("status").textContent === "… Judging");
    await told(page, /object|denied|error|No answer/, 60_000);
  });
  const status = await page.$eval("#status", (element) => element.innerText);
  const trouble = await page.$eval("#trouble", (element) => element.innerText);
  console.log(`20 MB pasted: "${status}" ${trouble}; the page waited ${Math.round(block)} ms at most`);
  assert.ok(block < 3_000, `the page stood still for ${block} ms`);
  assert.match(await page.$eval('[data-input="after"] .note', (note) => note.innerText), /^20\.0 MiB, [\d,]+ lines/);
  assert.ok(await page.$eval('[data-input="after"] textarea', (area) => area.value.length < 50_000 && area.readOnly));
  await drop(page, "before", "big.yaml", one.repeat(20_000));
  await page.waitForFunction(() => /too long to be edited here/.test(document.querySelector('[data-input="before"] .note').innerText));
  const isHeld = () => page.$eval('[data-input="before"] textarea', (area) => area.readOnly);
  assert.equal(await isHeld(), true);
  const copied = await built("examples/flip/install.yaml");
  await page.$eval('[data-input="before"] textarea', (area, text) => {
    const transfer = new DataTransfer();
    transfer.setData("text/plain", text);
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
  }, copied);
  assert.equal(await page.$eval('[data-input="before"] textarea', (area) => area.value), copied, "a short text is pasted over a long one");
  assert.equal(await isHeld(), false);
  await page.evaluate(() => [...document.querySelectorAll('[data-input="after"] button')].find((button) => button.textContent === "Empty it").click());
  assert.equal(await page.$eval('[data-input="after"] textarea', (area) => area.value + area.readOnly), "false");
  await lives(page);
  assert.deepEqual(complaints, []);
  await close();
});

test("a long list is cut, and grows on request", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  await page.click("#tab-manifest");
  await told(page, /mended/);
  const job = (number) => `---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate-${number}\n  labels: {app: migrations}\n  annotations:\n    helm.sh/hook: Pre-Upgrade\n`;
  await fill(page, "manifest", Array.from({ length: 300 }, (_, number) => job(number)).join(""));
  await page.waitForFunction(() => document.querySelectorAll("#panel-manifest .result").length === 20, { timeout: 30_000 });
  const more = await page.$$eval("#panel-manifest .results + button", (buttons) => buttons.map((button) => button.textContent));
  assert.deepEqual(more, ["and 280 more"]);
  await page.evaluate(() => [...document.querySelectorAll("#panel-manifest .results + button")][0].click());
  assert.equal(await page.$$eval("#panel-manifest .result", (results) => results.length), 220);
  await close();
});

test("a list of many Jobs in one line does not stop the page", async () => {
  const { page, complaints, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  await page.click("#tab-manifest");
  await told(page, /mended/);
  const job = (number) => ({ apiVersion: "batch/v1", kind: "Job", metadata: { name: `migrate-${number}`, labels: { app: "migrations" }, annotations: { "helm.sh/hook": "Pre-Upgrade" } } });
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: Array.from({ length: 30_000 }, (_, number) => job(number)) });
  await page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((all) => { for (const entry of all.getEntries()) window.longest = Math.max(window.longest, entry.duration); }).observe({ entryTypes: ["longtask"] });
    document.getElementById("status").replaceChildren("waiting");
  });
  await fill(page, "manifest", list);
  await told(page, /mended|denied|No answer/, 60_000);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const longest = await page.evaluate(() => window.longest);
  const remark = await page.$$eval("#panel-manifest .excerpt .remark:last-child", (remarks) => remarks.map((line) => line.textContent));
  console.log(`30,000 Jobs in one line: "${await page.$eval("#status", (status) => status.innerText)}"; the page waited ${Math.round(longest)} ms at most`);
  assert.match(remark.join(), /^and \d\d,\d{3} more$/);
  assert.ok(longest < 3_000, `the page stood still for ${longest} ms`);
  await lives(page);
  assert.deepEqual(complaints, []);
  await close();
});

test("a long stretch of marked lines is told in pieces, each line once", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  const rows = await page.evaluate(async () => {
    const [{ excerpts }, { Lines }] = await Promise.all([import("./show.js"), import("./lines.js")]);
    const texts = { after: new Lines(Array.from({ length: 1_000 }, (_, line) => `line ${line + 1}`).join("\n")) };
    const marks = Array.from({ length: 400 }, (_, at) => ({ input: "after", line: 101 + at, level: "warn", rule: "a", result: 0, finding: 0 }));
    const shown = excerpts({ marks, report: null }, texts, {}, () => {});
    return [...shown.querySelectorAll(".excerpt")].map((excerpt) => [...excerpt.querySelectorAll(".at")].map((at) => Number(at.textContent)));
  });
  assert.ok(rows.every((lines) => lines.length <= 60), `${rows.map((lines) => lines.length)}`);
  assert.deepEqual(rows.flat(), Array.from({ length: 406 }, (_, at) => 98 + at));
  await close();
});

test("what the module was not asked is counted", async () => {
  const { page, close } = await visit(browser, server.origin);
  await told(page, /denied/);
  const text = await page.evaluate(async () => {
    const { calls } = await import("./show.js");
    const [told, guests] = [Array(100).fill({ payload: "{}", answer: "{}" }), Array(100).fill({ text: "{}", same: true })];
    const texts = [100, 250].map((count) => calls({ calls: told, report: { results: Array(count).fill({}) } }, guests).textContent);
    return texts.map((all) => all.match(/and \d+ more, which were not repeated/)?.[0] ?? "");
  });
  assert.deepEqual(text, ["", "and 150 more, which were not repeated"]);
  await close();
});

/** Time passes a hundred times as fast for the page's longest wait. */
const hurried = (page) => page.evaluateOnNewDocument(() => {
  const original = window.setTimeout;
  window.setTimeout = (act, wait, ...rest) => original(act, wait >= 30_000 ? wait / 100 : wait, ...rest);
});

test("a worker that takes too long, dies or is not there is told", async (t) => {
  const cases = {
    "it never answers": ["/worker.js", "postMessage({ ready: true });", /No answer within 30 seconds/],
    "it loops for ever": ["/worker.js", "postMessage({ ready: true }); addEventListener('message', () => { for (;;); });", /No answer within 30 seconds/],
    "it traps": ["/worker.js", "postMessage({ ready: true }); addEventListener('message', ({ data }) => postMessage({ id: data.id, died: 'RuntimeError: unreachable' }));", /has crashed on this text/],
    "it throws": ["/worker.js", "postMessage({ ready: true }); addEventListener('message', () => { throw new Error('gone'); });", /has stopped: .*gone/],
    "its script is damaged": ["/core.js", "export default (", /could not be loaded/],
    "its module is damaged": ["/core_bg.wasm", "no module", /could not be loaded/],
  };
  for (const [name, [file, content, says]] of Object.entries(cases)) {
    await t.test(name, async () => {
      const broken = await serve({ [file]: content });
      const { page, close } = await visit(browser, broken.origin, { before: hurried });
      await told(page, /No answer/);
      assert.match(await page.$eval("#trouble", (trouble) => trouble.innerText), says);
      await page.click("#tab-manifest");
      assert.equal(await page.$eval("#panel-manifest", (panel) => panel.hidden), false, "the page lives");
      await close();
      await broken.close();
    });
  }
});

test("where a blob cannot start a worker, a file does", async () => {
  const { page, close } = await visit(browser, server.origin, {
    before: (page) => page.evaluateOnNewDocument(() => {
      const { Worker } = window;
      window.started = [];
      window.Worker = class extends Worker {
        constructor(url, options) {
          window.started.push(new URL(url).protocol);
          super(String(url).startsWith("blob:") ? "/missing.js" : url, options);
        }
      };
    }),
  });
  await told(page, /1 denied/);
  assert.deepEqual(await page.evaluate(() => window.started), ["blob:", "blob:", "http:"]);
  assert.equal(await page.$eval("#trouble", (trouble) => trouble.hidden), true);
  await close();
});

test("one load that fails does not put the worker outside the page's policy", async () => {
  let asked = 0;
  const code = await built("worker.js");
  const shaky = await serve({ "/worker.js": () => {
    asked += 1;
    if (asked === 1) throw new Error("the line is down");
    return code;
  } });
  const { page, close } = await visit(browser, shaky.origin, {
    before: (page) => page.evaluateOnNewDocument(() => {
      const { createObjectURL, revokeObjectURL } = URL;
      window.scripts = new Map();
      URL.createObjectURL = (blob) => {
        const url = createObjectURL.call(URL, blob);
        if (blob.type === "text/javascript") window.scripts.set(url, "made");
        return url;
      };
      URL.revokeObjectURL = (url) => {
        if (window.scripts.has(url)) window.scripts.set(url, "revoked");
        revokeObjectURL.call(URL, url);
      };
    }),
  });
  await told(page, /1 denied/);
  assert.equal(asked, 2);
  assert.deepEqual(page.workers().map((worker) => new URL(worker.url()).protocol), ["blob:"]);
  assert.deepEqual(await page.evaluate(() => [...window.scripts.values()]), ["revoked", "revoked"]);
  await close();
  await shaky.close();
});

test("a question that is overtaken while the core loads is given up soon after", async () => {
  const code = await built("worker.js");
  const core = await readFile(`${needed("PLAYGROUND_BUILT")}/core_bg.wasm`);
  const slow = await serve({
    "/worker.js": code.replace("await ready;\n    const", "await ready;\n    if (JSON.stringify(request).includes('# stop')) for (;;);\n    const"),
    "/core_bg.wasm": async () => {
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      return core;
    },
  });
  const { page, close } = await visit(browser, slow.origin);
  const heard = await page.evaluate(async () => {
    const { Asker } = await import("./asker.js");
    const started = performance.now();
    const manifest = await new Promise((resolve) => {
      const tell = ({ manifest }) => resolve(manifest);
      const asker = new Asker({ onanswer: tell, ontrouble: tell });
      for (const manifest of ["# stop", "kind: Other"]) asker.ask({ door: "manifest", settings: "", manifest, completeEvents: false });
    });
    return { manifest, seconds: (performance.now() - started) / 1000 };
  });
  assert.equal(heard.manifest, "kind: Other");
  assert.ok(heard.seconds < 20, `${heard.seconds} s`);
  await close();
  await slow.close();
});

test("after its death another worker answers", async () => {
  const code = await built("worker.js");
  const broken = await serve({ "/worker.js": code.replace("await ready;\n    const", "await ready;\n    if (JSON.stringify(request).includes('# stop')) for (;;);\n    const") });
  const { page, close } = await visit(browser, broken.origin, { before: hurried });
  await told(page, /1 denied/);
  const text = await built("examples/flip/upgrade.yaml");
  await fill(page, "after", `${text}# stop\n`);
  await told(page, /No answer/);
  await fill(page, "after", text);
  await told(page, /1 denied/);
  assert.equal(await page.$eval("#trouble", (trouble) => trouble.hidden), true);
  await fill(page, "after", `${text}# stop\n`);
  await new Promise((resolve) => setTimeout(resolve, 280));
  await fill(page, "after", await built("examples/flip/install.yaml"));
  await told(page, /Nothing to object to/, 10_000);
  await close();
  await broken.close();
});

test("where the module is missing, the core's answer stands all the same", async () => {
  const broken = await serve({ "/annotated-policy.wasm": "no module" });
  const { page, close } = await visit(browser, broken.origin);
  await told(page, /denied/);
  await page.click("#tab-review");
  await told(page, /2 mended/);
  assert.match(await shown(page), /✕ No answer/);
  assert.match(await shown(page), /allowed with a patch/);
  await close();
  await broken.close();
});

test("another answer of the module is told loudly", async () => {
  const code = await built("worker.js");
  const broken = await serve({ "/worker.js": code.replace("encoder.encode(call.answer)", "encoder.encode(call.answer + ' ')") });
  const { page, close } = await visit(browser, broken.origin);
  await told(page, /denied/);
  await page.click("#tab-review");
  await told(page, /2 mended/);
  assert.match(await shown(page), /✕ DIFFERENT/);
  assert.doesNotMatch(await shown(page), /same bytes/);
  await close();
  await broken.close();
});
