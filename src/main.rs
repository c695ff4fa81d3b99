//! `stable-hooks`: see `stable-hooks --help`.

use std::process::ExitCode;

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    stable_hooks::cli::main()
}
