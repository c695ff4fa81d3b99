// The parts that need no browser.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { built, needed, recordOf } from "./world.mjs";

/** A module of the page that imports no other one. */
async function part(name) {
  return import(`data:text/javascript;base64,${Buffer.from(await built(name)).toString("base64")}`);
}
const { unified } = await part("diff.js");
const { Lines } = await part("lines.js");
const { Guest } = await part("wapc.js");
const { contentOf, fragmentOf, isLink } = await part("link.js");
const { commandsOf } = await part("commands.js");

/** Applies a diff to the old text, as patch does. */
function applied(before, { hunks }) {
  const old = before.split("\n");
  const result = [];
  let at = 0;
  for (const { header, lines } of hunks) {
    const [, start, length = "1"] = header.match(/^@@ -(\d+)(?:,(\d+))? /);
    const from = length === "0" ? Number(start) : Number(start) - 1;
    result.push(...old.slice(at, from));
    at = from;
    for (const { sign, text } of lines) {
      if (sign !== "+") {
        assert.equal(old[at], text, "the context fits");
        at += 1;
      }
      if (sign !== "-") result.push(text);
    }
  }
  return [...result, ...old.slice(at)].join("\n");
}

test("a diff says what changed, with three lines around it", () => {
  const before = Array.from({ length: 20 }, (_, line) => `line ${line + 1}`).join("\n");
  const { hunks, removed, added } = unified(before, before.replace("line 9", "other"));
  assert.deepEqual([removed, added], [1, 1]);
  assert.equal(hunks.length, 1);
  assert.equal(hunks[0].header, "@@ -6,7 +6,7 @@");
  assert.deepEqual(hunks[0].lines.map(({ sign, text }) => sign + text), [" line 6", " line 7", " line 8", "-line 9", "+other", " line 10", " line 11", " line 12"]);
  assert.deepEqual(unified("a", "a").hunks, []);
  assert.equal(unified("", "a\n").hunks[0].header, "@@ -0,0 +1 @@");
});

test("a diff that is applied makes the other text", () => {
  let seed = 7;
  const random = (most) => (seed = (seed * 1103515245 + 12345) % 2147483648) % most;
  for (let turn = 0; turn < 500; turn += 1) {
    const before = Array.from({ length: random(30) }, () => "abcd"[random(4)]);
    const now = before.flatMap((line) => [[line], [], ["x", line], ["y"]][random(8)] ?? [line]);
    const [one, other] = [before.join("\n"), now.join("\n")];
    assert.equal(applied(one, unified(one, other)), other, `${JSON.stringify(one)} to ${JSON.stringify(other)}`);
  }
});

test("a diff of long texts takes no time, whatever they have in common", () => {
  const long = Array.from({ length: 400_000 }, (_, line) => `line ${line}`);
  const changed = long.map((line, at) => (at % 1000 === 0 ? `${line} mended` : line));
  const started = performance.now();
  assert.equal(unified(long.join("\n"), changed.join("\n")).hunks.length, 400);
  const nothing = unified(long.slice(0, 50_000).join("\n"), long.slice(0, 50_000).map((line) => `not ${line}`).join("\n"));
  assert.equal(nothing.hunks.length, 1);
  assert.ok(performance.now() - started < 10_000);
});

test("a line is found by its number", () => {
  const lines = new Lines("one\ntwo\n\nfour");
  assert.equal(lines.count, 4);
  assert.deepEqual([1, 2, 3, 4].map((line) => lines.at(line)), ["one", "two", "", "four"]);
  assert.equal(lines.at(0), "one");
  assert.equal(lines.at(99), "four");
  assert.equal(new Lines("").at(1), "");
});

test("what the page imports is asked for at once", async () => {
  const html = await built("index.html");
  const preloaded = [...html.matchAll(/rel="modulepreload" href="([^"]+)"/g)].map(([, file]) => file);
  const imports = async (file) => [...(await built(file)).matchAll(/^import .* from "\.\/([^"]+)";/gm)].map(([, name]) => name);
  const needed = new Set(await imports("page.js"));
  for (const file of needed) for (const name of await imports(file)) needed.add(name);
  assert.deepEqual(preloaded, [...needed].sort());
});

test("a link keeps every text", async () => {
  const content = { door: "renders", settings: "", before: "ü\u0000😀\r\n".repeat(5_000), after: "-", argocd: true };
  const fragment = await fragmentOf(content);
  assert.match(fragment, /^#v1\.[\w-]+$/);
  assert.ok(fragment.length < 1_000);
  assert.deepEqual(await contentOf(fragment), content);
  assert.deepEqual([fragment, "#v7.abc", "#anything", ""].map(isLink), [true, true, false, false]);
});

test("a browser that is too old for links is told so, and no link is called damaged", async () => {
  const fragment = await fragmentOf({ door: "manifest", manifest: "a: 1" });
  class Older {
    constructor(format) {
      throw new TypeError(`Unsupported compression format: '${format}'`);
    }
  }
  const { CompressionStream, DecompressionStream } = globalThis;
  for (const older of [undefined, Older]) {
    Object.assign(globalThis, { CompressionStream: older, DecompressionStream: older });
    try {
      await assert.rejects(contentOf(fragment), /^Error: This browser cannot open links/);
      await assert.rejects(fragmentOf({}), /^Error: This browser cannot make links/);
    } finally {
      Object.assign(globalThis, { CompressionStream, DecompressionStream });
    }
  }
});

test("the command has what the page was told", () => {
  const { renders, commands } = commandsOf({ door: "renders", settings: "a: 1", before: "", after: "", argocd: true });
  assert.equal(commands[0], "stable-hooks chart --install install.yaml --upgrade upgrade.yaml --argocd --settings settings.yaml");
  assert.equal(renders.length, 2);
  assert.match(commandsOf({ door: "review", settings: "", review: "kind: AdmissionReview" }).commands[0], /review\.yaml/);
});

const guest = (body) => {
  const name = Buffer.from("__guest_call");
  const code = [body.length + 1, 0, ...body];
  return Uint8Array.of(
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 7, 1, 0x60, 2, 0x7f, 0x7f, 1, 0x7f, 3, 2, 1, 0,
    7, name.length + 4, 1, name.length, ...name, 0, 0, 10, code.length + 1, 1, ...code);
};
const TRAP = [0x00, 0x0b];
const RETURN = (value) => [0x41, value, 0x0b];

test("a guest that traps or says nothing is told as our own host tells it", async () => {
  const call = async (body) => (await Guest.compile(guest(body))).call("validate", new Uint8Array());
  assert.match((await call(TRAP)).error, /^the policy crashed \(WebAssembly trap\)/);
  assert.equal((await call(RETURN(0))).error, "No error message set for call failure");
  assert.equal((await call(RETURN(1))).error, "No error message OR response set for call success");
});

test("the shipped module answers, a fresh instance for each call", async () => {
  const policy = await Guest.compile(await readFile(join(needed("PLAYGROUND_BUILT"), "annotated-policy.wasm")));
  const call = (operation, payload) => {
    const { response, error } = policy.call(operation, new TextEncoder().encode(payload));
    return error ?? JSON.parse(new TextDecoder().decode(response));
  };
  assert.equal(call("protocol_version", ""), "v1");
  assert.deepEqual(call("validate_settings", "{}"), { valid: true, message: null });
  assert.equal(call("validate_settings", '{"rules":{"a":"b"}}').valid, false);
  const { request } = JSON.parse(await built("examples/patched/review.json"));
  const payload = JSON.stringify({ request, settings: {} });
  assert.equal(call("validate", payload).mutated_object.metadata.annotations["helm.sh/hook"], "pre-install,pre-upgrade");
  assert.deepEqual(call("validate", payload), call("validate", payload));
  assert.match(call("no such operation", ""), /^the policy reported an error: /);
});

test("the module is told that there is no cluster", async () => {
  const policy = await Guest.compile(await readFile(join(needed("PLAYGROUND_BUILT"), "annotated-policy.wasm")));
  const payload = new TextEncoder().encode(JSON.stringify({ request: recordOf(await built("examples/flip/upgrade.yaml")), settings: {} }));
  const { response } = policy.call("validate", payload);
  assert.match(JSON.parse(new TextDecoder().decode(response)).warnings[0], /^live Jobs could not be looked up: there is no view of the cluster/);
});
