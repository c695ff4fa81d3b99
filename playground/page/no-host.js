// What the core's module imports because it holds the policy's guest as well. The core never calls its host.

function unreached() {
  throw new Error("the core called a policy host, which it never does");
}

export {
  unreached as __console_log, unreached as __guest_error, unreached as __guest_request, unreached as __guest_response,
  unreached as __host_call, unreached as __host_error, unreached as __host_error_len, unreached as __host_response,
  unreached as __host_response_len,
};
