// Runs a policy's module as policy-server does: compiled once, a fresh instance for every call.
// The texts are those of crates/host, which are Kubewarden's.

/** What a guest may export to be run once, before its first call, in this order. */
const STARTS = ["_start", "wapc_init"];
const LOOKUPS = ["get_resource", "list_resources_by_namespace", "list_resources_all", "can_i"];

/** A compiled module. */
export class Guest {
  /** @param {WebAssembly.Module} module */
  constructor(module) {
    this.module = module;
  }

  /** @param {BufferSource} bytes */
  static async compile(bytes) {
    return new Guest(await WebAssembly.compile(bytes));
  }

  /**
   * Calls the guest once.
   * @param {string} operation
   * @param {Uint8Array} payload
   * @returns {{response: Uint8Array} | {error: string}}
   */
  call(operation, payload) {
    const exchange = new Exchange(operation, payload);
    try {
      const instance = new WebAssembly.Instance(this.module, { wapc: exchange.imports() });
      exchange.memory = instance.exports.memory;
      for (const name of STARTS) instance.exports[name]?.();
      const answered = instance.exports.__guest_call(exchange.operation.length, payload.length) !== 0;
      if (answered && exchange.response) return { response: exchange.response };
      if (exchange.error !== null) return { error: `the policy reported an error: ${exchange.error}` };
      return { error: answered ? "No error message OR response set for call success" : "No error message set for call failure" };
    } catch (trap) {
      const isLink = trap instanceof WebAssembly.LinkError;
      const reason = isLink ? "the module needs something that a policy host does not offer" : "the policy crashed (WebAssembly trap)";
      return { error: `${reason}: ${trap.message}` };
    }
  }
}

/** What the host's functions share while a guest runs. */
class Exchange {
  constructor(operation, payload) {
    this.operation = bytes(operation);
    this.payload = payload;
    this.response = null;
    this.error = null;
    this.hostResponse = new Uint8Array();
    this.hostError = new Uint8Array();
    this.memory = null;
  }

  /** The functions of waPC's module `wapc`. */
  imports() {
    return {
      __guest_request: (operation, payload) => {
        this.write(operation, this.operation);
        this.write(payload, this.payload);
      },
      __guest_response: (at, length) => { this.response = this.view(at, length).slice(); },
      __guest_error: (at, length) => { this.error = this.text(at, length); },
      __console_log: () => {},
      __host_call: (...places) => this.hostCall(places),
      __host_response: (at) => this.write(at, this.hostResponse),
      __host_response_len: () => this.hostResponse.length,
      __host_error: (at) => this.write(at, this.hostError),
      __host_error_len: () => this.hostError.length,
    };
  }

  hostCall(places) {
    const [binding, namespace, operation] = [0, 2, 4].map((at) => this.text(places[at], places[at + 1]));
    const answer = hostCall(binding, namespace, operation);
    this.hostResponse = bytes(answer.response ?? "");
    this.hostError = bytes(answer.error ?? "");
    return answer.error === undefined ? 1 : 0;
  }

  // A guest's numbers are unsigned, and its memory may have grown since the last call.
  view(at, length) {
    return new Uint8Array(this.memory.buffer, at >>> 0, length >>> 0);
  }

  text(at, length) {
    return new TextDecoder("utf-8", { fatal: true }).decode(this.view(at, length));
  }

  write(at, source) {
    this.view(at, source.length).set(source);
  }
}

/** What policy-server answers where it reaches no cluster. */
function hostCall(binding, namespace, operation) {
  if (binding !== "kubewarden") return { error: `unknown binding: ${binding}` };
  if (namespace === "tracing") return operation === "log" ? { response: "" } : { error: `unknown operation: ${operation}` };
  if (namespace === "kubernetes") return { error: lookup(operation) };
  const refused = `Policy has not been granted access to the '${namespace}/${operation}' host capability.`;
  return { error: `${refused} The violation has been reported.` };
}

// What may be looked up is not asked: the same code is shipped a second time, with the rights to read what a release has.
function lookup(operation) {
  if (!LOOKUPS.includes(operation)) return `unknown operation: ${operation}`;
  return "Callback evaluation failure: kube::Client was not initialized properly";
}

function bytes(text) {
  return new TextEncoder().encode(text);
}
