// The page: three doors, one worker.

import { Asker } from "./asker.js";
import { commandsOf } from "./commands.js";
import { button, clip, el, listed, number } from "./dom.js";
import { Editor, hasFiles } from "./editor.js";
import { contentOf, fragmentOf, isLink, LinkError, LONG_LINK, LONGEST_LINK } from "./link.js";
import { calls, excerpts, folded, mended, notes, paper, pictureText, placeName, results, summary } from "./show.js";

/** How long the keys must rest. */
const REST = 250;
/** An answer that comes sooner needs no word that it is on its way. */
const SOON = 1_000;

const DOORS = {
  renders: {
    inputs: { before: "Before: the install", after: "After: the upgrade" },
    hints: { before: "What helm template prints", after: "What helm template --is-upgrade prints" },
    switches: { argocd: "As Argo CD deploys it: the first sync, and the next one" },
    switched: { argocd: { before: "Before: the first sync", after: "After: the next sync" } },
  },
  manifest: {
    inputs: { manifest: "Manifest, or one render" },
    hints: { manifest: "A stream of YAML documents" },
    switches: { completeEvents: "Complete the events of a hook that runs on one side only" },
  },
  review: {
    inputs: { review: "AdmissionReview, or its request" },
    hints: { review: "JSON or YAML, as an API server sends it" },
    switches: {},
  },
};
const SIGNS = { deny: "✕", warn: "!", fix: "~", fine: "✓", idle: "–", busy: "…" };
const byId = (id) => document.getElementById(id);

/** One door: its texts, its switches, and what was last shown. */
class Door {
  constructor(name) {
    this.name = name;
    this.spec = DOORS[name];
    this.tab = byId(`tab-${name}`);
    this.panel = byId(`panel-${name}`);
    this.example = "";
    this.isOpened = false;
    /** Whether its texts came all at once, and nobody has looked for the marked lines yet. */
    this.isFresh = false;
    /** What was asked last and came back, with its answer or without. @type {{request: object, answer: object | null} | null} */
    this.last = null;
    this.editors = {};
    const onchange = () => edited(this);
    const texts = this.panel.querySelector(".texts");
    for (const [input, label] of Object.entries(this.spec.inputs)) {
      this.editors[input] = new Editor({ input, label, hint: this.spec.hints[input], onchange });
      texts.append(this.editors[input].element);
    }
    this.switches = {};
    for (const [key, label] of Object.entries(this.spec.switches)) {
      this.switches[key] = el("input", { type: "checkbox", id: `${name}-${key}`, autocomplete: "off", onchange });
      texts.append(el("p", { class: "switch" }, this.switches[key], el("label", { for: `${name}-${key}` }, label)));
    }
    const settings = new Editor({ input: "settings", label: "Settings, in YAML", hint: "selectors: [{}]", small: true, onchange });
    this.editors.settings = settings;
    texts.append(el("details", { class: "settings" }, el("summary", {}, "Settings"), settings.element));
  }

  /** What its texts are called, which a switch can change. */
  get labels() {
    const switched = Object.entries(this.spec.switched ?? {}).filter(([key]) => this.switches[key].checked);
    return Object.assign({}, this.spec.inputs, ...switched.map(([, labels]) => labels));
  }

  /** What the core is asked. */
  request() {
    const request = { door: this.name };
    for (const [input, editor] of Object.entries(this.editors)) request[input] = editor.text;
    for (const [key, box] of Object.entries(this.switches)) request[key] = box.checked;
    return request;
  }

  /** @param {object} content as `request` has it */
  fill(content) {
    for (const [input, editor] of Object.entries(this.editors)) editor.text = typeof content[input] === "string" ? content[input] : "";
    for (const [key, box] of Object.entries(this.switches)) box.checked = content[key] === true;
    this.editors.settings.element.closest("details").open = this.editors.settings.text !== "";
    this.isOpened = true;
    this.isFresh = true;
  }

  /** What an example or a link would destroy. */
  own() {
    const isUntouched = Object.values(this.editors).every((editor) => editor.text.trim() === "");
    return this.example !== "" || isUntouched ? null : this.request();
  }

  /** Whether each text is there. */
  get isFilled() {
    return Object.keys(this.spec.inputs).every((input) => this.editors[input].text.trim() !== "");
  }

  get isEmpty() {
    return Object.keys(this.spec.inputs).every((input) => this.editors[input].text.trim() === "");
  }
}

const doors = Object.fromEntries(Object.keys(DOORS).map((name) => [name, new Door(name)]));
let current = doors.renders;
let examples = [];
let timer = 0;
let busy = 0;
/** Raised by whatever the reader does: what was still loading for an earlier wish is not wanted any more. */
let taken = 0;
let picture = "";
const troubles = { judge: "", file: "" };
/** Those who wait for the answer to what stands there now. */
let waiting = [];

const asker = new Asker({ onanswer: (request, message) => answered(request, message), ontrouble: troubled });

function same(one, other) {
  return Object.keys(one).every((key) => one[key] === other[key]);
}

// Asking.

function edited(door) {
  taken += 1;
  door.isOpened = true;
  door.example = "";
  byId("example").value = "";
  say();
  complain("file", "");
  unlink();
  wait(door, true);
  clearTimeout(timer);
  timer = setTimeout(() => judge(door), REST);
}

/** The link that was opened is not what stands there any more. */
function unlink() {
  if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
}

function judge(door) {
  clearTimeout(timer);
  if (door !== current) return;
  showCommands(door);
  for (const [input, label] of Object.entries(door.labels)) door.editors[input].rename(label);
  if (!door.isFilled) return idle(door);
  wait(door, true);
  clearTimeout(busy);
  busy = setTimeout(() => tell("busy", "Judging"), SOON);
  asker.ask(door.request());
}

/** Whether an answer to what stands there is still to come. */
function wait(door, isWaiting) {
  door.panel.querySelector(".answer").setAttribute("aria-busy", String(isWaiting));
}

function idle(door) {
  wait(door, false);
  door.last = { request: door.request(), answer: null };
  complain("judge", "");
  for (const editor of Object.values(door.editors)) {
    editor.complain([]);
    editor.mark([]);
  }
  door.panel.querySelector(".shown").replaceChildren();
  door.panel.querySelector(".picture")?.replaceChildren();
  tell("idle", door.isEmpty ? "Nothing to judge yet: put a text in, drop a file on it, or take an example" : "The other render is missing");
  settle();
}

function answered(request, { answer, diff, guests }) {
  const door = doors[request.door];
  // A text that is gone by now is followed by no other answer.
  if (door !== current || !door.isFilled) return;
  const isOld = !same(request, door.request());
  door.last = { request, answer };
  wait(door, isOld);
  complain("judge", general(answer, door));
  show(door, answer, diff, guests, isOld);
  const { level, text } = summary(answer);
  tell(level, text);
  if (!isOld) settle();
  performance.mark("answered");
}

function troubled(request, text) {
  const door = doors[request.door];
  if (door !== current || !door.isFilled) return;
  door.last = { request, answer: null };
  wait(door, false);
  door.panel.querySelector(".shown").replaceChildren();
  door.panel.querySelector(".picture")?.replaceChildren();
  tell("deny", "No answer");
  complain("judge", text);
  settle();
}

function settle() {
  for (const resolve of waiting.splice(0)) resolve();
}

// Telling.

function tell(level, text) {
  clearTimeout(busy);
  const status = byId("status");
  if (status.textContent === `${SIGNS[level]} ${text}`) return;
  status.className = `status ${level}`;
  status.replaceChildren(el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[level]), ` ${text}`);
}

/** @param {"judge" | "file"} about what an answer takes back, or what the next text does */
function complain(about, text) {
  troubles[about] = text;
  const all = Object.values(troubles).filter((trouble) => trouble !== "").join(" ");
  // What is written again is read out again.
  if (byId("trouble").textContent === all) return;
  byId("trouble").textContent = all;
  byId("trouble").hidden = all === "";
}

/** What is said of no text that stands here. */
function general(answer, door) {
  return answer.errors.filter(({ input }) => door.editors[input] === undefined).map(({ text }) => clip(text)).join(" ");
}

function say(...children) {
  byId("said").replaceChildren(...children);
}

function showCommands(door) {
  const { renders, commands } = commandsOf(door.request());
  door.panel.querySelector(".commands").textContent = [...renders, ...commands].join("\n");
}

/** A report on two renders is about a release record that nobody has written. */
function subjectOf(door) {
  if (door.name !== "renders") return null;
  return door.switches.argocd.checked ? "Argo CD's first sync and the next one" : "the install and the upgrade over it";
}

function show(door, answer, diff, guests, isOld) {
  for (const [input, editor] of Object.entries(door.editors)) {
    const errors = answer.errors.filter((error) => error.input === input);
    editor.complain(errors);
    const marks = answer.marks.filter((mark) => mark.input === input);
    if (!isOld) editor.mark(marks);
    if (door.isFresh && marks.length > 0) editor.reveal(marks[0].line);
    if (input === "settings" && errors.length > 0) editor.element.closest("details").open = true;
  }
  door.isFresh = false;
  const go = (input, line) => door.editors[input]?.caret(line);
  const texts = Object.fromEntries(Object.entries(door.editors).map(([input, editor]) => [input, editor.lines]));
  const take = (text) => {
    door.editors.manifest.replace(text);
    door.editors.manifest.area.focus();
  };
  const timeline = door.name === "renders" ? showPicture(door, answer) : null;
  const parts = [
    mended(answer, diff, { take, go }), results(answer, subjectOf(door), go), calls(answer, guests), notes(answer),
    isOld ? null : excerpts(answer, texts, door.labels, go), timeline,
  ];
  door.panel.querySelector(".shown").replaceChildren(...parts.filter((part) => part !== null));
}

/** Shows the picture, and hands back the same in text. */
function showPicture(door, answer) {
  const place = door.panel.querySelector(".picture");
  const isStale = answer.timeline === null && answer.errors.length > 0 && place.firstChild !== null;
  place.classList.toggle("stale", isStale);
  // Half a line typed must not make the page jump.
  if (isStale) {
    place.querySelector(".picture-tools").replaceChildren("The last text that could be judged.");
    return null;
  }
  if (picture !== "") URL.revokeObjectURL(picture);
  picture = "";
  if (answer.timeline === null) {
    place.replaceChildren();
    return null;
  }
  picture = URL.createObjectURL(new Blob([answer.timeline.svg], { type: "image/svg+xml" }));
  const image = el("img", { src: picture, alt: pictureText(answer) });
  image.addEventListener("load", () => performance.mark("pictured"), { once: true });
  place.replaceChildren(
    el("div", { class: "picture-scroll", tabindex: "0", role: "group", "aria-label": "The picture" }, image),
    el("p", { class: "picture-tools" }, el("a", { class: "button", href: picture, download: "timeline.svg" }, "Download the picture")));
  return folded("The picture in text", answer.timeline.text, false);
}

// Doors and examples.

async function open(door, { focus = false, fresh = true } = {}) {
  taken += 1;
  // What was said of another door is not said of this one.
  if (door !== current) byId("status").replaceChildren();
  current = door;
  for (const other of Object.values(doors)) {
    const isOpen = other === door;
    other.tab.setAttribute("aria-selected", String(isOpen));
    other.tab.tabIndex = isOpen ? 0 : -1;
    other.panel.hidden = !isOpen;
  }
  if (focus) door.tab.focus();
  say();
  complain("judge", "");
  complain("file", "");
  const first = examples.find((example) => example.door === door.name);
  if (fresh && !door.isOpened && door.own() === null && first) return take(first);
  byId("example").value = door.example;
  judge(door);
}

async function take(example) {
  const door = doors[example.door];
  const content = { ...example.switches };
  const turn = (taken += 1);
  try {
    for (const [input, file] of Object.entries(example.files)) content[input] = await load(`examples/${file}`);
  } catch (error) {
    if (turn !== taken) return;
    complain("file", `The example could not be loaded (${error.message}).`);
    byId("example").value = current.example;
    return judge(current);
  }
  if (turn !== taken) return;
  const own = door.own();
  unlink();
  put(door, content, example.id);
  offer(door, own, example.says);
}

/** Says what was put into a door, and offers to put back what was there. */
function offer(door, own, says) {
  if (own === null || same(own, door.request())) return say(el("span", {}, says));
  const back = () => {
    unlink();
    put(door, own, "");
    byId("example").focus();
  };
  say(el("span", {}, says), " ", button("Take my text back", back));
}

function put(door, content, example) {
  door.fill(content);
  door.example = example;
  open(door, { fresh: false });
  byId("example").value = example;
}

async function load(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.text();
}

function listExamples() {
  const groups = Object.values(doors).map((door) => {
    const options = examples.filter((example) => example.door === door.name).map(({ id, title }) => el("option", { value: id }, title));
    return el("optgroup", { label: door.tab.textContent }, ...options);
  });
  byId("example").append(...groups);
}

// Links and commands.

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    return `${what} is copied.`;
  } catch {
    return `${what} could not be copied by itself: it stands here.`;
  }
}

async function copyCommand() {
  const text = commandsOf(current.request()).commands.join("\n");
  say(el("span", {}, await copy(text, "The command")), paper(text, "The command"));
}

async function copyLink() {
  const door = current;
  if (door.isEmpty) return say(el("span", {}, "There is nothing to link to yet."));
  say(el("span", {}, "Making a link …"));
  const { request, answer } = await settled(door);
  if (door !== current) return;
  const doubts = doubtsOf(door, request, answer);
  if (doubts.length > 0 && !(await confirmed(doubts))) return say(el("span", {}, "No link was made."));
  const link = new URL(location.href);
  try {
    link.hash = await fragmentOf(request);
  } catch (error) {
    return say(el("span", {}, `No link could be made: ${error.message}`));
  }
  const size = `${number(link.href.length)} characters`;
  if (link.href.length > LONGEST_LINK) return say(el("span", {}, `These texts are too long for a link: it would have ${size}.`));
  const told = await copy(link.href, "The link");
  const long = link.href.length > LONG_LINK ? ` It has ${size}, and some programs cut long links.` : "";
  const onfocus = (event) => event.target.select();
  say(el("span", {}, told + long), el("input", { class: "link", readonly: true, value: link.href, "aria-label": "The link", onfocus }));
}

/** The answer to what stands there now. */
async function settled(door) {
  const request = door.request();
  if (!door.last || !same(request, door.last.request)) {
    const answered = new Promise((resolve) => waiting.push(resolve));
    judge(door);
    await answered;
  }
  const isAnswered = door.last !== null && same(request, door.last.request);
  return { request, answer: isAnswered ? door.last.answer : null };
}

/** What somebody must agree to before it goes into a link. */
function doubtsOf(door, request, answer) {
  const doubts = (answer?.secrets ?? []).map((found) => placeName(found, door.labels));
  for (const input of Object.keys(door.editors)) {
    // Where nothing was judged, nothing was looked through either.
    const isUnread = !answer?.report || answer.errors.some((error) => error.input === input);
    if (isUnread && request[input].trim() !== "") doubts.push(`${door.labels[input] ?? "Settings"}: it could not be judged, so nobody has looked for secrets in it`);
  }
  return doubts;
}

async function confirmed(doubts) {
  const dialog = byId("secrets");
  byId("secrets-list").replaceChildren(listed(el("ul"), doubts, (doubt) => el("li", {}, clip(doubt, 300)), 10));
  dialog.returnValue = "cancel";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  return dialog.returnValue === "confirm";
}

/** Whether there was a link to open. */
async function openLink() {
  const { hash } = location;
  if (!isLink(hash)) return false;
  const turn = (taken += 1);
  try {
    const content = await contentOf(hash);
    if (turn !== taken) return passed(hash);
    if (!Object.hasOwn(doors, content.door)) throw new LinkError("This link is damaged: it opens no door of this page.");
    const door = doors[content.door];
    const own = door.own();
    put(door, content, "");
    offer(door, own, "The link is open.");
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    if (turn !== taken) return passed(hash);
    await open(current);
    complain("file", error.message);
  }
  return true;
}

/** A link that came too late is not what the page shows. */
function passed(hash) {
  if (location.hash === hash) unlink();
  return true;
}

// Beginning.

function listen() {
  const order = Object.values(doors);
  for (const [index, door] of order.entries()) {
    door.tab.addEventListener("click", () => open(door));
    door.tab.addEventListener("keydown", (event) => {
      // With another key held it is the browser's: Alt and the left arrow lead back.
      if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const to = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: order.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      open(order[(to + order.length) % order.length], { focus: true });
    });
  }
  byId("example").addEventListener("change", ({ target }) => {
    const example = examples.find(({ id }) => id === target.value);
    if (example) take(example);
  });
  byId("link").addEventListener("click", copyLink);
  byId("command").addEventListener("click", copyCommand);
  addEventListener("hashchange", openLink);
  // A file that misses its text must not replace the page, and neither must a link.
  for (const name of ["dragover", "drop"]) {
    addEventListener(name, (event) => {
      if (hasFiles(event) || !event.target.matches?.("textarea:read-write")) event.preventDefault();
    });
  }
}

async function begin() {
  listen();
  tell("busy", "Loading");
  let trouble = "";
  try {
    examples = JSON.parse(await load("examples/examples.json"));
    listExamples();
  } catch (error) {
    trouble = `The examples could not be loaded (${error.message}).`;
  }
  if (!(await openLink())) await open(current);
  if (trouble !== "") complain("file", trouble);
}

begin();
