// The waPC imports that the linked SDK asks for. The core's tests never call the host: a call is a failure.
const imports = [
  "__console_log", "__guest_error", "__guest_request", "__guest_response", "__host_call",
  "__host_error", "__host_error_len", "__host_response", "__host_response_len",
];
for (const name of imports) {
  exports[name] = () => {
    throw new Error(`${name} was called: the core must not reach its host`);
  };
}
