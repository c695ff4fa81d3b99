//! A comment, as long as it may be.

/// GitHub refuses a longer one: "Body is too long (maximum is 65536 characters)", in the API's answer to `POST
/// /repos/{owner}/{repo}/issues/{number}/comments`. Counted in bytes a text is never shorter than in characters. GitLab takes
/// a million.
pub(crate) const LONGEST: usize = 65_536;

/// For the lines at the end.
const RESERVED: usize = 512;

/// A text that grows by whole sections, as long as there is room.
pub(crate) struct Comment {
    text: String,
    left_out: usize,
}

/// A piece of a comment whose items are left out where there is no room for all.
pub(crate) struct Section {
    pub(crate) head: String,
    /// Each with the line break before it.
    pub(crate) items: Vec<String>,
    /// What an item is called, and several of them.
    pub(crate) called: (&'static str, &'static str),
}

impl Comment {
    pub(crate) fn new(head: String) -> Self {
        Self { text: head, left_out: 0 }
    }

    /// Adds the section behind an empty line, without its last items or not at all where there is no room.
    pub(crate) fn add(&mut self, section: &Section) {
        let room = (LONGEST - RESERVED).saturating_sub(self.text.len());
        match section.within(room.saturating_sub(2)) {
            Some(text) => self.text.extend(["\n\n", &text]),
            None => self.left_out += 1,
        }
    }

    /// Adds them all, or none where something that matters more has found no room.
    pub(crate) fn add_after(&mut self, sections: &[Section]) {
        if self.left_out > 0 {
            self.left_out += sections.len();
        } else {
            for section in sections {
                self.add(section);
            }
        }
    }

    /// Counts sections that were never made.
    pub(crate) fn leave_out(&mut self, count: usize) {
        self.left_out += count;
    }

    /// The whole text with these short lines, the last one telling how many sections are not in it.
    pub(crate) fn finish(mut self, lines: &[String], called: (&str, &str)) -> String {
        let left_out = (self.left_out > 0).then(|| format!("and {}", more(self.left_out, called)));
        for line in lines.iter().chain(&left_out) {
            self.text.extend(["\n\n", line]);
        }
        self.text.push('\n');
        self.text
    }
}

impl Section {
    pub(crate) fn len(&self) -> usize {
        self.items.iter().map(String::len).sum::<usize>() + self.head.len()
    }

    /// As much of it as has room, but no head without an item.
    fn within(&self, room: usize) -> Option<String> {
        if self.len() <= room {
            return Some(format!("{}{}", self.head, self.items.concat()));
        }
        let rest = |left: usize| format!("\n\nand {}", more(left, self.called));
        let room = room.checked_sub(self.head.len() + rest(self.items.len()).len())?;
        let mut used = 0;
        let fits = |item: &&String| {
            used += item.len();
            used <= room
        };
        let shown = self.items.iter().take_while(fits).count();
        let items: String = self.items.iter().take(shown).map(String::as_str).collect();
        (shown > 0).then(|| format!("{}{items}{}", self.head, rest(self.items.len() - shown)))
    }
}

fn more(count: usize, (one, many): (&str, &str)) -> String {
    format!("{count} more {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::{Comment, LONGEST, Section};

    const CALLED: (&str, &str) = ("finding", "findings");

    fn section(head: &str, items: usize, length: usize) -> Section {
        Section { head: head.to_owned(), items: vec!["x".repeat(length); items], called: CALLED }
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let mut comment = Comment::new("head".to_owned());
        comment.add(&section("small ", 1, 10));
        comment.add(&section("cut ", 10, 10_000));
        comment.add(&section("none ", 1, 10_000));
        comment.add(&section("small again ", 1, 10));
        comment.add_after(&[section("after ", 1, 10)]);
        comment.leave_out(2);
        let text = comment.finish(&["a line".to_owned()], ("result", "results"));
        assert!(text.len() <= LONGEST && text.len() > 60_000, "{}", text.len());
        let short = text.replace(&"x".repeat(10_000), "X").replace(&"x".repeat(10), "x");
        assert_eq!(
            short,
            "head\n\nsmall x\n\ncut XXXXXX\n\nand 4 more findings\n\nsmall again x\n\na line\n\nand 4 more results\n"
        );
    }
}
