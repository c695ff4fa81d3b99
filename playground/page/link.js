// A link that carries the texts in its fragment, which no browser sends to a server.

const PREFIX = "#v1.";
/** A link that says it holds more than this is not opened. */
const MOST_INFLATED = 32 * 1024 * 1024;
/** Longer links are cut by some programs; still longer ones by browsers. */
export const LONG_LINK = 8_000;
export const LONGEST_LINK = 1_500_000;

const FORMAT = "deflate-raw";

/** What is wrong with a link, for people. */
export class LinkError extends Error {}

/** @param {object} content @returns {Promise<string>} the fragment, from its # on */
export async function fragmentOf(content) {
  const json = new TextEncoder().encode(JSON.stringify(content));
  const deflated = new Blob([json]).stream().pipeThrough(stream("CompressionStream", "make"));
  return PREFIX + base64url(new Uint8Array(await new Response(deflated).arrayBuffer()));
}

/** Whether a fragment is that of a link of this page, whatever its version. @param {string} fragment */
export function isLink(fragment) {
  return /^#v\d+\./.test(fragment);
}

/** @param {string} fragment that of a link @returns {Promise<object>} */
export async function contentOf(fragment) {
  if (!fragment.startsWith(PREFIX)) throw new LinkError("This link was made by another version of this page.");
  const inflater = stream("DecompressionStream", "open");
  let json;
  try {
    json = await inflate(bytesOf(fragment.slice(PREFIX.length)), inflater);
  } catch (error) {
    if (error instanceof LinkError) throw error;
    throw new LinkError("This link is damaged: a part of it may have been lost on the way.");
  }
  return checked(json);
}

function checked(json) {
  let content;
  try {
    content = JSON.parse(json);
  } catch {
    throw new LinkError("This link is damaged: it holds no texts of this page.");
  }
  const isObject = typeof content === "object" && content !== null && !Array.isArray(content);
  const isOurs = isObject && Object.values(content).every((value) => typeof value === "string" || typeof value === "boolean");
  if (!isOurs || typeof content.door !== "string") throw new LinkError("This link is damaged: it holds no texts of this page.");
  return content;
}

/** Older browsers have no such stream, or not in this format. */
function stream(kind, verb) {
  try {
    return new globalThis[kind](FORMAT);
  } catch {
    throw new LinkError(`This browser cannot ${verb} links: it is too old to know ${kind} with ${FORMAT}.`);
  }
}

async function inflate(bytes, inflater) {
  const reader = new Blob([bytes]).stream().pipeThrough(inflater).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let [text, size] = ["", 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > MOST_INFLATED) {
      await reader.cancel();
      throw new LinkError("This link holds more than 32 MiB of text, which is too much for this page.");
    }
    text += decoder.decode(value, { stream: true });
  }
}

function base64url(bytes) {
  let binary = "";
  // In pieces, for a call takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function bytesOf(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}
