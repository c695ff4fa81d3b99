// Everything that takes time: the core, the diff, and the module that runs in the cluster.

import init, { answer as ask } from "./core.js";
import { unified } from "./diff.js";
import { Guest } from "./wapc.js";

/** More calls of one review than this are not repeated in the module. */
const MOST_CALLS = 100;
const MOST_MENDED = 1024 * 1024;

/** @type {Promise<Guest> | undefined} */
let guest;

const ready = init({ module_or_path: new URL("core_bg.wasm", import.meta.url) });
ready.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ broken: String(error) }),
);

addEventListener("message", async ({ data: { id, request } }) => {
  try {
    await ready;
    const answer = JSON.parse(ask(JSON.stringify(request)));
    const diff = answer.fixed ? unified(request.manifest, answer.fixed.text) : null;
    // The page shows the diff; a mended stream as long as one that cannot be edited there is of no use to it.
    if (answer.fixed && (diff.hunks.length === 0 || answer.fixed.text.length > MOST_MENDED)) answer.fixed.text = null;
    const guests = await runCalls(answer.calls);
    postMessage({ id, answer, diff, guests });
  } catch (error) {
    // A module that has trapped is in no state to be asked again: the page starts another worker.
    postMessage({ id, died: String(error) });
  }
});

/** What the module answers to each call, and whether these are the bytes of the core's answer. */
async function runCalls(calls) {
  if (calls.length === 0) return [];
  try {
    guest ??= loadGuest();
    const policy = await guest;
    return calls.slice(0, MOST_CALLS).map((call) => runCall(policy, call));
  } catch (error) {
    guest = undefined;
    return calls.slice(0, MOST_CALLS).map(() => ({ error: String(error) }));
  }
}

async function loadGuest() {
  const response = await fetch(new URL("annotated-policy.wasm", import.meta.url));
  if (!response.ok) throw new Error(`annotated-policy.wasm: ${response.status} ${response.statusText}`);
  return Guest.compile(await response.arrayBuffer());
}

function runCall(policy, call) {
  const encoder = new TextEncoder();
  const outcome = policy.call("validate", encoder.encode(call.payload));
  if (outcome.error !== undefined) return outcome;
  const expected = encoder.encode(call.answer);
  const same = outcome.response.length === expected.length && outcome.response.every((byte, at) => byte === expected[at]);
  return { text: new TextDecoder().decode(outcome.response), same };
}
