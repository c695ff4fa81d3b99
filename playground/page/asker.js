// Asks the worker, one question at a time; the newest one wins.

/** A question that takes longer is given up, and the worker with it. */
const LIMIT = 30_000;
/** How long a question may go on once there is a newer one. */
const PATIENCE = 3_000;

const TOO_LONG = `No answer within ${LIMIT / 1000} seconds, so it was given up. `
  + "The next change starts anew; for a text as long as this one use the command line.";
const NOT_LOADED = "A part of this page could not be loaded";
const SCRIPT = new URL("worker.js", import.meta.url).href;

/** How often a worker is started by a blob before it is started by a file. */
const TRIES = 2;

/** A worker that a blob starts lives under the page's policy; one that a file starts lives under none. */
function confined() {
  return URL.createObjectURL(new Blob([`import ${JSON.stringify(SCRIPT)};`], { type: "text/javascript" }));
}

/**
 * @typedef {{id: number, request: object}} Job
 */
export class Asker {
  #worker = null;
  #ready = false;
  /** The blob that starts the worker, until it has. @type {string | null} */
  #blob = null;
  /** How often a blob has started no worker, one after the other. */
  #failed = 0;
  /** @type {(Job & {since: number}) | null} */
  #busy = null;
  /** @type {Job | null} */
  #next = null;
  #timer = 0;
  #hurry = 0;
  #last = 0;

  /** @param {{onanswer: (request: object, message: object) => void, ontrouble: (request: object, text: string) => void}} listener */
  constructor(listener) {
    this.listener = listener;
    this.#start();
  }

  /** @param {object} request */
  ask(request) {
    this.#next = { id: (this.#last += 1), request };
    if (this.#busy === null) return this.#send();
    this.#press();
  }

  /** Lets the newer question overtake; before the worker is ready there is nothing to be gained by another one. */
  #press() {
    clearTimeout(this.#hurry);
    if (this.#busy === null || this.#next === null || !this.#ready) return;
    const left = this.#busy.since + PATIENCE - performance.now();
    this.#hurry = setTimeout(() => this.#overtake(), Math.max(0, left));
  }

  #overtake() {
    if (this.#busy === null || this.#next === null) return;
    this.#stop();
    this.#send();
  }

  #send() {
    if (this.#worker === null) this.#start();
    this.#busy = { ...this.#next, since: performance.now() };
    this.#next = null;
    this.#worker.postMessage({ id: this.#busy.id, request: this.#busy.request });
    this.#watch();
  }

  /** The time that the core takes to load over a slow line is not held against the question. */
  #watch() {
    clearTimeout(this.#timer);
    if (!this.#ready || this.#busy === null) return;
    this.#busy.since = performance.now();
    this.#timer = setTimeout(() => this.#fail(TOO_LONG), LIMIT);
  }

  #start() {
    const isPlain = this.#failed >= TRIES;
    if (!isPlain) this.#blob = confined();
    this.#worker = new Worker(isPlain ? SCRIPT : this.#blob, { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#hear(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      if (!this.#ready && !isPlain) return this.#retry();
      // Neither way leads anywhere, so the blob was not what failed.
      if (!this.#ready) this.#failed = 0;
      this.#fail(this.#ready ? `The judging part has stopped: ${event.message}` : `${NOT_LOADED}. Reload it to try again.`);
    };
  }

  /** A line fails at times; and there may be browsers in which a blob cannot start a module of the server. */
  #retry() {
    const next = this.#next ?? this.#busy;
    this.#failed += 1;
    this.#stop();
    this.#next = next;
    if (next === null) this.#start();
    else this.#send();
  }

  #stop() {
    clearTimeout(this.#timer);
    clearTimeout(this.#hurry);
    this.#worker?.terminate();
    this.#worker = null;
    this.#revoke();
    this.#ready = false;
    this.#busy = null;
  }

  #revoke() {
    if (this.#blob !== null) URL.revokeObjectURL(this.#blob);
    this.#blob = null;
  }

  #hear(message) {
    if (message.ready) {
      this.#ready = true;
      if (this.#blob !== null) this.#failed = 0;
      this.#revoke();
      this.#watch();
      this.#press();
    } else if (message.broken !== undefined) {
      this.#fail(`${NOT_LOADED} (${message.broken}). Reload it to try again.`);
    } else if (message.died !== undefined) {
      this.#fail(`The judging part has crashed on this text (${message.died}) and was started anew.`);
    } else if (this.#busy?.id === message.id) {
      const { request } = this.#busy;
      clearTimeout(this.#timer);
      this.#busy = null;
      if (this.#next !== null) this.#send();
      else this.listener.onanswer(request, message);
    }
  }

  #fail(text) {
    const request = this.#busy?.request ?? this.#next?.request;
    const next = this.#next;
    const wasReady = this.#ready;
    this.#stop();
    if (next !== null && wasReady) {
      this.#next = next;
      return this.#send();
    }
    this.#next = null;
    if (wasReady) this.#start();
    if (request !== undefined) this.listener.ontrouble(request, text);
  }
}
