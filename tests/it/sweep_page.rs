//! `docs/sweep.md` shows what the program writes.

#![cfg(unix)]

use crate::chart_many::with_each;
use crate::cli::{code, stderr, stdout};
use crate::docs::assert_block;
use crate::helms::stable_hooks;

#[test]
fn chart_sweep_on_the_page_is_what_the_program_writes() {
    with_each("sweep-page", |path| {
        let output = stable_hooks(&[path], &["chart", "tests/charts/sweep", "--sweep"]);
        assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
        assert_block("docs/sweep.md", "example", &format!("```text\n{}```\n", stdout(&output)));
    });
}
