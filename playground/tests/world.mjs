// A server of the built folder on loopback, and a Chromium that opens it.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";
import { after, before } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const BUILT = needed("PLAYGROUND_BUILT");
const PACKAGES = join(needed("PLAYGROUND_PACKAGES"), "node_modules");
const TYPES = {
  ".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
  ".json": "application/json", ".wasm": "application/wasm", ".yaml": "text/plain; charset=utf-8",
};
/** The sizes of a screen and of a phone. */
export const SCREEN = { width: 1280, height: 800 };
export const PHONE = { width: 320, height: 640 };

export function needed(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: playground/test sets it`);
  return value;
}

export function packageFile(path) {
  return join(PACKAGES, path);
}

/** What the page itself has in a file. */
export function built(path) {
  return readFile(join(BUILT, path), "utf8");
}

/** Serves the built folder and notes what is asked for; `replace` has other contents for some paths, or makes them. */
export async function serve(replace = {}) {
  const asked = [];
  const server = createServer(async (request, response) => {
    asked.push(request.url);
    const path = new URL(request.url, "http://localhost").pathname;
    const file = path === "/" ? "/index.html" : path;
    try {
      const other = replace[file];
      const content = typeof other === "function" ? await other() : other ?? (await readFile(join(BUILT, normalize(file))));
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" }).end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { asked, origin: `http://127.0.0.1:${server.address().port}`, close: () => new Promise((resolve) => server.close(resolve)) };
}

/** The server and the browser of a test file. */
export let server, browser;

/** Opens both before the first test of a file, and closes them behind the last. */
export function opens() {
  before(async () => {
    server = await serve();
    browser = await launch();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });
}

export async function launch() {
  const entry = createRequire(join(PACKAGES, "x.js")).resolve("puppeteer-core");
  const { default: puppeteer } = await import(pathToFileURL(entry));
  return puppeteer.launch({
    executablePath: needed("CHROMIUM"), headless: true,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run"],
  });
}

/**
 * A page that notes what it asks for, what its policy refuses and what it complains of.
 * @param {{before?: (page: object) => Promise<void>, hash?: string, viewport?: object, scheme?: string}} [options]
 */
export async function visit(browser, origin, { before, hash = "", viewport = SCREEN, scheme = "light" } = {}) {
  const context = await browser.createBrowserContext();
  await context.overridePermissions(origin, ["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]).catch(() => {});
  const page = await context.newPage();
  await page.setViewport(viewport);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  const requests = [];
  const complaints = [];
  page.on("request", (request) => requests.push(request.url()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  await page.evaluateOnNewDocument(() => {
    window.violations = [];
    addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  if (before) await before(page);
  await page.goto(`${origin}/${hash}`, { waitUntil: "load" });
  return { page, requests, complaints, close: () => context.close() };
}

/** Waits until what stands in the open door is answered, and the line that says what came out fits. */
export async function told(page, pattern, timeout = 20_000) {
  const isTold = (source) => {
    const isWaiting = document.querySelector('.panel:not([hidden]) .answer')?.getAttribute("aria-busy") !== "false";
    return !isWaiting && new RegExp(source).test(document.getElementById("status").textContent);
  };
  try {
    await page.waitForFunction(isTold, { timeout }, pattern.source);
  } catch {
    throw new Error(`the page does not say ${pattern}, but: ${await page.$eval("main", (main) => main.innerText.slice(0, 1500))}`);
  }
}

/** What a reader sees of the open door's answer. */
export function shown(page) {
  return page.$eval(".panel:not([hidden]) .answer", (answer) => answer.innerText);
}

export async function choose(page, example) {
  const { says } = JSON.parse(await built("examples/examples.json")).find(({ id }) => id === example);
  await page.$eval("#said", (said) => said.replaceChildren());
  await page.select("#example", example);
  await page.waitForFunction((text) => document.getElementById("said").textContent.startsWith(text), {}, says);
}

/** Puts a text in as a paste of it would. */
export async function fill(page, input, text) {
  await page.$eval(`.panel:not([hidden]) [data-input="${input}"] textarea`, (area, value) => {
    area.value = value;
    area.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }, text);
}

/** The request with which Helm stores the record of an upgrade; what is asked of the cluster about it is answered by nobody. */
export function recordOf(manifest) {
  const release = { name: "orders", namespace: "shop", version: 2, info: { status: "pending-upgrade" }, manifest, hooks: [], chart: { metadata: { name: "orders", version: "1.5.0" } } };
  const data = Buffer.from(gzipSync(JSON.stringify(release)).toString("base64")).toString("base64");
  const name = "sh.helm.release.v1.orders.v2";
  const labels = { name: "orders", owner: "helm", status: "pending-upgrade", version: "2" };
  return {
    uid: "1", kind: { group: "", version: "v1", kind: "Secret" }, resource: { group: "", version: "v1", resource: "secrets" },
    name, namespace: "shop", operation: "CREATE", userInfo: { username: "helm" },
    object: { apiVersion: "v1", kind: "Secret", type: "helm.sh/release.v1", metadata: { name, namespace: "shop", labels }, data: { release: data } },
  };
}

export async function drop(page, input, name, bytes) {
  await page.$eval(`.panel:not([hidden]) [data-input="${input}"]`, (element, file, base64) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))], file));
    const event = (type) => new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true });
    element.dispatchEvent(event("dragover"));
    element.querySelector("textarea").dispatchEvent(event("drop"));
  }, name, Buffer.from(bytes).toString("base64"));
}
