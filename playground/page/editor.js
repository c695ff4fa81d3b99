// A plain text area with line numbers, which takes files and texts that are too long to be edited.

import { button, clip, counted, el, listed, number } from "./dom.js";
import { Lines } from "./lines.js";

/** A longer text is held aside, for a text area with all of it would make the page wait. */
const EDITABLE = 512 * 1024;
const MOST_TEXT = 32 * 1024 * 1024;
const TOO_MUCH = `and the page takes ${megabytes(MOST_TEXT)}: use the command line.`;
const HELD = "too long to be edited here. Its beginning is shown; all of it is judged.";
const SHOWN_OF_HELD = { lines: 200, characters: 20_000 };
export const SIGNS = { deny: "✕", warn: "!", fix: "~" };
let made = 0;

/**
 * @typedef {{input: string, label: string, hint?: string, small?: boolean, onchange: () => void}} Options
 */
export class Editor {
  /** The text as it was given, until somebody edits it: the text area has only its beginning, or other line ends. @type {string | null} */
  #given = "";
  /** @type {Map<number, string>} */
  #marks = new Map();
  #lines = new Lines("");

  /** @param {Options} options */
  constructor({ input, label, hint = "", small = false, onchange }) {
    this.input = input;
    this.onchange = onchange;
    const id = `text-${(made += 1)}`;
    this.area = el("textarea", {
      id, "aria-describedby": `${id}-note ${id}-errors`, placeholder: hint,
      // What is pasted here stays here: a browser's spelling service would be sent it.
      spellcheck: "false", autocomplete: "off", autocapitalize: "off", autocorrect: "off", translate: "no", wrap: "off",
    });
    this.title = el("label", { for: id }, label);
    this.numbers = el("div", { class: "numbers", "aria-hidden": "true" });
    this.file = el("input", { type: "file", id: `${id}-file`, class: "unseen", tabindex: "-1", "aria-hidden": "true" });
    this.choose = button("Open a file", () => this.file.click(), "quiet");
    this.choose.append(el("span", { class: "unseen" }, ` as ${label}`));
    this.note = el("p", { id: `${id}-note`, class: "note", hidden: true });
    this.errors = el("div", { id: `${id}-errors`, class: "errors", hidden: true });
    this.element = el("div", { class: small ? "editor small" : "editor", "data-input": input },
      el("div", { class: "editor-head" }, this.title, this.choose, this.file),
      el("div", { class: "paper" }, this.numbers, this.area), this.note, this.errors);
    this.#listen();
  }

  get text() {
    return this.#given ?? this.area.value;
  }

  set text(text) {
    const isLong = text.length > EDITABLE;
    const ended = asShown(text);
    this.#given = text;
    this.area.readOnly = isLong;
    this.area.value = isLong ? beginning(ended) : ended;
    this.area.scrollTop = 0;
    this.area.setSelectionRange(0, 0);
    this.#lines = new Lines(ended);
    this.#marks = new Map();
    this.say(isLong ? `${megabytes(text.length)}, ${counted(this.#lines.count, "line")}: ${HELD}` : "");
    if (isLong) this.note.append(" ", button("Empty it", () => this.#empty()));
    this.draw();
  }

  /** @param {string} label */
  rename(label) {
    this.title.textContent = label;
    this.choose.querySelector(".unseen").textContent = ` as ${label}`;
  }

  /** Its lines, as the text area has them. */
  get lines() {
    return this.#lines;
  }

  /** Another text, by the user's hand. */
  replace(text) {
    if (text.length > MOST_TEXT) return this.say(`This text has ${megabytes(text.length)}, ${TOO_MUCH}`);
    this.text = text;
    this.onchange();
  }

  #empty() {
    this.replace("");
    this.area.focus();
  }

  /** @param {string} text */
  say(text) {
    this.note.textContent = text;
    this.note.hidden = text === "";
  }

  /** @param {{line: number, level: string}[]} marks */
  mark(marks) {
    this.#marks = new Map();
    const rank = ["fix", "warn", "deny"];
    for (const { line, level } of marks) {
      if (rank.indexOf(level) > rank.indexOf(this.#marks.get(line))) this.#marks.set(line, level);
    }
    this.draw();
  }

  /** @param {{line: number | null, text: string}[]} errors */
  complain(errors) {
    this.errors.hidden = errors.length === 0;
    this.area.setAttribute("aria-invalid", String(errors.length > 0));
    const place = (line) => (line === null ? [] : [button(`line ${number(line)}`, () => this.caret(line), "place"), " "]);
    this.errors.replaceChildren(listed(el("ul"), errors, ({ line, text }) => el("li", {}, ...place(line), clip(text)), 5));
  }

  /** Puts the caret at the beginning of a line, and the line in view. */
  caret(line) {
    const details = this.element.closest("details");
    if (details) details.open = true;
    const [start, end] = this.#lines.range(line);
    this.area.focus({ preventScroll: true });
    // The end of a held text is not in the text area.
    if (end <= this.area.value.length) this.area.setSelectionRange(start, end);
    this.reveal(line);
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** Brings a line into view within the text area. */
  reveal(line) {
    this.area.scrollTop = Math.max(0, (line - 4) * this.#lineHeight());
    this.area.scrollLeft = 0;
    this.draw();
  }

  /** Draws the numbers of the lines in view, and of no others. */
  draw() {
    const height = this.#lineHeight();
    const first = Math.floor(this.area.scrollTop / height);
    const shown = Math.ceil(this.area.clientHeight / height) + 1;
    const last = Math.min(this.#lines.count, first + shown);
    const rows = [];
    for (let line = first + 1; line <= last; line += 1) {
      const level = this.#marks.get(line);
      rows.push(el("div", level ? { class: `marked ${level}` } : {}, level ? `${SIGNS[level]} ${line}` : String(line)));
    }
    const strip = el("div", {}, ...rows);
    strip.style.transform = `translateY(${first * height - this.area.scrollTop}px)`;
    this.numbers.style.minWidth = `${String(this.#lines.count).length + 4}ch`;
    this.numbers.replaceChildren(strip);
  }

  #lineHeight() {
    return parseFloat(getComputedStyle(this.area).lineHeight) || 20;
  }

  #listen() {
    this.area.addEventListener("input", () => this.#typed());
    this.area.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.area);
    this.area.addEventListener("paste", (event) => this.#pasted(event));
    this.file.addEventListener("change", () => {
      this.#take([...this.file.files]);
      this.file.value = "";
    });
    for (const name of ["dragenter", "dragover"]) {
      this.element.addEventListener(name, (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        this.element.classList.add("target");
      });
    }
    this.element.addEventListener("dragleave", (event) => {
      if (!this.element.contains(event.relatedTarget)) this.element.classList.remove("target");
    });
    this.element.addEventListener("drop", (event) => this.#dropped(event));
  }

  #typed() {
    if (this.area.value.length > EDITABLE) return this.replace(this.area.value);
    this.#given = null;
    this.#lines = new Lines(this.area.value);
    this.#marks = new Map();
    this.say("");
    this.draw();
    this.onchange();
  }

  /** A long text is taken before the text area lays it out; into one that cannot be edited nothing is pasted, but over it. */
  #pasted(event) {
    const pasted = event.clipboardData?.getData("text/plain") ?? "";
    const { value, selectionStart, selectionEnd, readOnly } = this.area;
    if (pasted === "" || (!readOnly && pasted.length + value.length <= EDITABLE)) return;
    event.preventDefault();
    this.replace(readOnly ? pasted : value.slice(0, selectionStart) + pasted + value.slice(selectionEnd));
  }

  /** A text that is dropped is the browser's to insert, or to move. */
  #dropped(event) {
    this.element.classList.remove("target");
    if (!hasFiles(event)) return;
    event.preventDefault();
    this.#take([...event.dataTransfer.files]);
  }

  /** @param {File[]} files */
  async #take(files) {
    if (files.length === 0) return;
    if (files.length > 1) return this.say("One file at a time, please.");
    const [file] = files;
    if (file.size > MOST_TEXT) return this.say(`${clip(file.name, 100)} has ${megabytes(file.size)}, ${TOO_MUCH}`);
    try {
      const bytes = new Uint8Array(await file.arrayBuffer());
      const reason = refusal(bytes);
      if (reason !== null) return this.say(`${clip(file.name, 100)} ${reason}`);
      this.replace(new TextDecoder().decode(bytes));
    } catch (error) {
      this.say(`${clip(file.name, 100)} cannot be read: ${error.message}`);
    }
  }
}

/** @param {DragEvent} event */
export function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files") === true;
}

/** With the line ends that a text area makes of all others, and YAML too. */
function asShown(text) {
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}

/** Why bytes are no text for this page. */
function refusal(bytes) {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return "is compressed. The page takes texts: of a chart, what helm template prints.";
  const mark = bytes[0] * 256 + bytes[1];
  if (mark === 0xfffe || mark === 0xfeff) return "is in UTF-16: save it in UTF-8.";
  if (bytes.includes(0)) return "is no text.";
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return null;
  } catch {
    return "is no text in UTF-8.";
  }
}

function beginning(text) {
  const lines = text.slice(0, SHOWN_OF_HELD.characters).split("\n", SHOWN_OF_HELD.lines);
  return `${lines.join("\n")}\n…`;
}

function megabytes(size) {
  return `${(size / 1024 / 1024).toFixed(1)} MiB`;
}
