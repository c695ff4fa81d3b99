//! `stable-hooks`: see `stable-hooks --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    stable_hooks::cli::main()
}
