//! A page of `docs/`: what a reader copies from it, and what a reader looks for in it.

use std::fs;
use std::path::Path;

pub struct Page {
    text: String,
}

impl Page {
    #[must_use]
    pub fn read(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
        Self { text: fs::read_to_string(path).expect("the page is there") }
    }

    /// The lines of all `sh` blocks, without comments.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        commands(&self.text)
    }

    /// The same of what stands below one heading.
    #[must_use]
    #[track_caller]
    pub fn commands_below(&self, heading: &str) -> Vec<String> {
        commands(self.below(heading))
    }

    /// The `text` blocks below one heading.
    #[must_use]
    #[track_caller]
    pub fn messages_below(&self, heading: &str) -> Vec<String> {
        blocks(self.below(heading), "text").map(|block| block.trim_end().to_owned()).collect()
    }

    /// What stands below a heading, up to the next one of its level or above.
    #[track_caller]
    fn below(&self, heading: &str) -> &str {
        let level = heading.split(' ').next().unwrap_or_default().len();
        let (_, rest) = self
            .text
            .split_once(&format!("\n{heading}\n"))
            .unwrap_or_else(|| panic!("no heading is called {heading:?}"));
        let ends = (1..=level).filter_map(|level| rest.find(&format!("\n{} ", "#".repeat(level))));
        ends.min().map_or(rest, |end| rest.split_at(end).0)
    }
}

fn commands(text: &str) -> Vec<String> {
    let lines = blocks(text, "sh").flat_map(str::lines);
    let lines = lines.map(|line| line.split("  #").next().unwrap_or(line).trim_end().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

fn blocks<'a>(text: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    let fence = format!("```{language}\n");
    let blocks: Vec<_> = text.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect();
    blocks.into_iter()
}

/// Whether a message was printed; `…` in it stands for whatever was there, and a line may have been wrapped elsewhere.
#[must_use]
pub fn is_printed(message: &str, printed: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed = words(printed);
    let mut rest = printed.as_str();
    message.split('…').map(words).all(|part| match rest.split_once(&part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}
