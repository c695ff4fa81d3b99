// What the core answered, as elements.

import { button, clip, counted, el, listed, number, shorten } from "./dom.js";
import { SIGNS } from "./editor.js";

const RULES = "https://github.com/stable-hooks/stable-hooks/blob/main/docs/rules/";
const VERDICTS = { deny: ["✕", "denied"], normalize: ["~", "allowed with a patch"], allow: ["✓", "allowed"] };
/** Lines of an excerpt around a marked one. */
const AROUND = 3;
const MOST_LINE = 300;
/** Lines of one excerpt: a longer stretch is told in pieces. */
const MOST_LINES = 60;

/** One sentence of what came out, for the eye and for the ear. */
export function summary(answer) {
  const findings = (answer.report?.results ?? []).flatMap((result) => result.findings);
  const count = (level) => findings.filter((finding) => finding.level === level).length;
  const [denied, warned, fixed] = [count("deny"), count("warn"), count("fix")];
  const parts = [];
  if (denied > 0) parts.push(`${number(denied)} denied`);
  if (warned > 0) parts.push(counted(warned, "warning"));
  if (fixed > 0) parts.push(`${number(fixed)} mended by the patch`);
  if (answer.errors.length > 0) parts.push(counted(answer.errors.length, "error"));
  const judged = answer.report?.results.length ?? 0;
  const level = answer.errors.length > 0 || denied > 0 ? "deny" : warned > 0 ? "warn" : "fix";
  if (parts.length > 0) return { level, text: parts.join(", ") };
  if (judged > 0) return { level: "fine", text: "Nothing to object to" };
  return { level: "idle", text: "Nothing here that is judged" };
}

function section(title, ...body) {
  return el("section", {}, el("h3", {}, title), ...body);
}

export function badge(level) {
  return el("span", { class: `badge ${level}` }, `${SIGNS[level] ?? ""} ${level}`.trim());
}

/** Kind, namespace and name as people write them. */
export function objectName({ kind, namespace, name }) {
  return clip(`${kind} ${namespace ? `${namespace}/` : ""}${name}`, 300);
}

/** What the command line calls the inputs. */
const FILES = { "install.yaml": "before", "upgrade.yaml": "after", "manifest.yaml": "manifest", "review.yaml": "review", "settings.yaml": "settings" };

/**
 * A place that the core tells as `install.yaml:9: Secret x`, by the label of its input.
 * @param {string} text
 * @param {Record<string, string>} labels
 */
export function placeName(text, labels) {
  const [whole, file, line] = text.match(/^([a-z]+\.yaml)(?::(\d+))?: /) ?? [];
  const label = labels[FILES[file]];
  if (label === undefined) return text;
  return `${label}${line === undefined ? "" : `, line ${number(Number(line))}`}: ${text.slice(whole.length)}`;
}

/** A JSON pointer as people write it: metadata.annotations["helm.sh/hook"]. */
export function fieldName(pointer) {
  const parts = pointer.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const joined = parts.map((part) => (/^\d+$/.test(part) ? `[${part}]` : /^[\w-]+$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`));
  return clip(joined.join("").replace(/^\./, ""), 300);
}

function ruleLink(rule) {
  if (!/^[a-z0-9-]+$/.test(rule)) return rule === "" ? null : el("code", {}, clip(rule, 100));
  // In a tab of its own, for what was typed here is nowhere else.
  return el("a", { href: `${RULES}${rule}.md`, target: "_blank", rel: "noopener noreferrer" }, rule);
}

/**
 * @param {object} answer
 * @param {string | null} subject what was judged, where that is more than one object
 * @param {(input: string, line: number) => void} go
 */
export function results(answer, subject, go) {
  const all = answer.report?.results ?? [];
  if (all.length === 0) return null;
  const told = all.map((result, index) => ({ result, index }));
  // What has something to say comes first; the rest keeps its order.
  told.sort((one, other) => weight(one.result) - weight(other.result));
  const quiet = told.filter(({ result }) => weight(result) === 3).length;
  const list = listed(el("div", { class: "results" }), told.filter(({ result }) => weight(result) < 3 || all.length === 1),
    ({ result, index }) => drawResult(answer, result, index, subject, go), 20);
  const rest = quiet > 0 && all.length > 1 ? el("p", { class: "muted" }, `${counted(quiet, "object")} with nothing to say about.`) : null;
  return section("Findings", list, rest);
}

function weight({ verdict, findings, patch }) {
  if (verdict === "deny") return 0;
  if (findings.some(({ level }) => level === "warn")) return 1;
  return findings.length > 0 || patch.length > 0 ? 2 : 3;
}

function drawResult(answer, result, index, subject, go) {
  const [sign, words] = VERDICTS[result.verdict] ?? ["?", result.verdict];
  const marks = answer.marks.filter((mark) => mark.result === index);
  const patched = answer.patched?.[index];
  const operation = el("span", { class: "muted" }, result.operation.toLowerCase());
  const judged = [el("span", { class: "name" }, objectName(result.object)), " ", operation];
  return el("div", { class: `result ${result.verdict}` },
    el("p", { class: "verdict" }, el("strong", {}, `${sign} ${words}`), " ", ...(subject === null ? judged : [subject])),
    result.findings.length > 0 && listed(el("ol", { class: "findings" }), result.findings,
      (finding, at) => drawFinding(finding, marks.filter((mark) => mark.finding === at), go)),
    result.patch.length > 0 && folded("The patch", JSON.stringify(result.patch, null, 2), true),
    result.patch.length > 0 && patched !== null && patched !== undefined && folded("The object after the patch", patched, false));
}

function drawFinding(finding, marks, go) {
  return el("li", { class: `finding ${finding.level}` },
    el("p", { class: "finding-head" }, badge(finding.level), " ", ruleLink(finding.rule), " ",
      el("span", { class: "name" }, objectName(finding.object)), " ",
      finding.path !== "" && el("code", { class: "field" }, fieldName(finding.path))),
    el("p", { class: "message" }, clip(finding.message)),
    finding.help !== "" && el("p", { class: "help" }, `→ ${clip(finding.help)}`),
    (marks.length > 0 || finding.template) && el("p", { class: "places" },
      ...marks.slice(0, 5).flatMap((mark) => [placeButton(mark, go), " "]),
      finding.template && el("code", { class: "muted" }, templateName(finding.template))));
}

function templateName({ file, line }) {
  return clip(line === null ? file : `${file}:${line}`, 300);
}

function placeButton({ input, line }, go) {
  return button(`${input}, line ${number(line)}`, () => go(input, line), "place");
}

export function folded(title, text, open) {
  return el("details", open ? { open: true } : {}, el("summary", {}, title), paper(clip(text, 200_000), title));
}

/** A text in a box that scrolls sideways by itself, and by the keyboard. */
export function paper(text, label, name = "") {
  return el("pre", { class: `paper-text ${name}`.trim(), tabindex: "0", role: "group", "aria-label": label }, text);
}

export function notes(answer) {
  if (answer.notes.length === 0) return null;
  return section("Notes", listed(el("ul", { class: "notes" }), answer.notes, (note) => el("li", {}, clip(note)), 5));
}

/**
 * The marked lines with some around them.
 * @param {Record<string, import("./lines.js").Lines>} texts
 * @param {Record<string, string>} labels
 */
export function excerpts(answer, texts, labels, go) {
  const inputs = Object.keys(texts).filter((input) => answer.marks.some((mark) => mark.input === input));
  if (inputs.length === 0) return null;
  return section("The marked lines", ...inputs.map((input) => {
    const marks = answer.marks.filter((mark) => mark.input === input);
    const lines = texts[input];
    return el("div", { class: "excerpts" }, el("h4", {}, labels[input] ?? "Settings"),
      listed(el("div", {}), windows(marks, lines.count), (window) => excerpt(answer, lines, window, go), 10));
  }));
}

/** Marks by line, and lines in stretches that do not touch. */
function windows(marks, count) {
  const byLine = new Map();
  // A List in one line has all its marks there.
  for (const mark of marks) {
    if (byLine.has(mark.line)) byLine.get(mark.line).push(mark);
    else byLine.set(mark.line, [mark]);
  }
  const stretches = [];
  for (const line of [...byLine.keys()].sort((one, other) => one - other)) {
    const [from, to] = [Math.max(1, line - AROUND), Math.min(count, line + AROUND)];
    const last = stretches.at(-1);
    if (last && line <= last.to && to - last.from >= MOST_LINES) continue;
    if (last && from <= last.to + 1 && to - last.from < MOST_LINES) last.to = to;
    else stretches.push({ from: Math.max(from, (last?.to ?? 0) + 1), to, byLine });
  }
  return stretches;
}

function excerpt(answer, lines, { from, to, byLine }, go) {
  const rows = [];
  for (let line = from; line <= to; line += 1) {
    const marks = byLine.get(line) ?? [];
    rows.push(el("div", { class: marks.length > 0 ? `row marked ${marks[0].level}` : "row" },
      el("span", { class: "at" }, String(line)), el("code", {}, shorten(lines.at(line), MOST_LINE) || " ")));
    for (const mark of marks.slice(0, 5)) rows.push(remark(answer, mark, go));
    if (marks.length > 5) rows.push(el("div", { class: "remark" }, `and ${number(marks.length - 5)} more`));
  }
  return el("div", { class: "excerpt", tabindex: "0", role: "group", "aria-label": `Lines ${from} to ${to}` }, ...rows);
}

function remark(answer, mark, go) {
  const finding = answer.report?.results[mark.result]?.findings[mark.finding];
  const text = finding ? `${objectName(finding.object)} ${finding.message}` : "";
  return el("div", { class: `remark ${mark.level}` }, badge(mark.level), " ",
    button(`${mark.rule}, line ${number(mark.line)}`, () => go(mark.input, mark.line), "place"), " ",
    el("span", {}, shorten(text, 160)));
}

/** What `fix` would change. */
export function mended(answer, diff, { take, go }) {
  if (!answer.fixed) return null;
  const remarks = answer.fixed.remarks;
  const says = diff.hunks.length === 0
    ? el("p", {}, "fix would change nothing here.")
    : el("p", {}, `${counted(diff.removed, "line")} out, ${number(diff.added)} in. `,
      answer.fixed.text !== null && button("Take the mended text", () => take(answer.fixed.text)));
  const list = remarks.length > 0 && listed(el("ul", { class: "remarks" }), remarks,
    ({ line, text }) => el("li", {}, placeButton({ input: "manifest", line }, go), " ", clip(text)), 10);
  const changes = diff.hunks.length > 0 && listed(el("div", { class: "diff" }), diff.hunks, drawHunk, 20);
  return section("What fix would change", says, changes, list);
}

function drawHunk({ header, lines }) {
  const rows = [el("span", { class: "hunk" }, `${header}\n`)];
  for (const { sign, text } of lines.slice(0, 500)) {
    const line = `${sign}${shorten(text, MOST_LINE)}\n`;
    rows.push(sign === " " ? line : el(sign === "+" ? "ins" : "del", {}, line));
  }
  if (lines.length > 500) rows.push(`… and ${number(lines.length - 500)} more lines\n`);
  return el("pre", { class: "paper-text", tabindex: "0", role: "group", "aria-label": header }, ...rows);
}

/** The core's answers beside those of the module that runs in the cluster. */
export function calls(answer, guests) {
  if (answer.calls.length === 0) return null;
  const pairs = guests.map((guest, index) => ({ guest, call: answer.calls[index] }));
  const list = listed(el("div", {}), pairs, drawCall, 5);
  // Of a long list the core tells the first calls alone.
  const rest = Math.max(answer.calls.length, answer.report?.results.length ?? 0) - guests.length;
  return section("The module that runs in the cluster",
    el("p", { class: "muted" }, "annotated-policy.wasm, the very file that policy-server loads, was asked the same question in this page. "
      + "No cluster answers its lookups here."),
    list, rest > 0 && el("p", {}, `and ${number(rest)} more, which were not repeated.`));
}

function drawCall({ guest, call }) {
  const isSame = guest.same === true;
  const told = guest.error !== undefined ? "✕ No answer" : isSame ? "✓ same bytes" : "✕ DIFFERENT";
  const theirs = guest.error !== undefined
    ? el("p", { class: "message" }, clip(guest.error))
    : paper(clip(guest.text, 100_000), "The module's answer", "wrap");
  return el("div", { class: isSame ? "call same" : "call different" },
    el("p", { class: "verdict" }, el("strong", {}, told)),
    el("div", { class: "beside" },
      el("div", {}, el("h4", {}, "The module"), theirs),
      el("div", {}, el("h4", {}, "The core"), paper(clip(call.answer, 100_000), "The core's answer", "wrap"))),
    folded("What both were asked", call.payload, false));
}

/** What the picture shows, for those who do not see it. */
export function pictureText(answer) {
  const results = answer.report?.results ?? [];
  const findings = results.flatMap((result) => result.findings);
  const told = findings.slice(0, 3).map((finding) => `${finding.level}: ${objectName(finding.object)}, ${finding.rule}`);
  if (findings.length > 3) told.push(`and ${number(findings.length - 3)} more`);
  const says = told.length > 0 ? told.join("; ") : "nothing to object to";
  return `What runs when, before beside after, from top to bottom. ${says}. The same in text stands below.`;
}
