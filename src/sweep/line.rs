//! The line of a value in a chart's `values.yaml`.

use granit_parser::{Event, Parser};

use crate::value::{Step, ValuePath};

/// The line, from 1, at which the value stands, or the nearest one that it lies in; and whether it is the value itself.
#[must_use]
pub(crate) fn line_of(text: &str, path: &ValuePath) -> Option<(usize, bool)> {
    let mut walk = Walk { path: &path.0, open: Vec::new(), best: None };
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { break };
        walk.take(&event, span.start.line());
    }
    walk.best.map(|(depth, line)| (line, depth == path.0.len()))
}

/// A map or a list that has begun.
struct Open {
    /// How many steps of the path lead here; `None` where it is off the path.
    depth: Option<usize>,
    /// The next item of a list.
    item: Option<usize>,
    /// The key whose value comes next, and its line.
    key: Option<(String, usize)>,
}

struct Walk<'p> {
    path: &'p [Step],
    open: Vec<Open>,
    /// The steps that lead to a line, and the line.
    best: Option<(usize, usize)>,
}

impl Walk<'_> {
    fn take(&mut self, event: &Event<'_>, line: usize) {
        match event {
            Event::MappingStart(..) => {
                let depth = self.value(line);
                self.open.push(Open { depth, item: None, key: None });
            }
            Event::SequenceStart(..) => {
                let depth = self.value(line);
                self.open.push(Open { depth, item: Some(0), key: None });
            }
            Event::MappingEnd | Event::SequenceEnd => {
                self.open.pop();
            }
            Event::Scalar(text, ..) => match self.open.last_mut() {
                Some(open) if open.item.is_none() && open.key.is_none() => open.key = Some((text.to_string(), line)),
                Some(_) | None => {
                    self.value(line);
                }
            },
            Event::Alias(_) => {
                self.value(line);
            }
            _ => {}
        }
    }

    /// A value begins: how many steps lead to it.
    fn value(&mut self, line: usize) -> Option<usize> {
        let Some(open) = self.open.last_mut() else { return Some(0) };
        let (step, line) = match (&mut open.item, open.key.take()) {
            (Some(item), _) => {
                let step = Step::Item(*item);
                *item += 1;
                (step, line)
            }
            (None, Some((key, line))) => (Step::Key(key), line),
            // A key that is no text.
            (None, None) => {
                open.key = Some((String::new(), line));
                return None;
            }
        };
        let depth = open.depth.filter(|depth| self.path.get(*depth) == Some(&step))? + 1;
        if self.best.is_none_or(|(known, _)| known < depth) {
            self.best = Some((depth, line));
        }
        Some(depth)
    }
}

#[cfg(test)]
mod tests {
    use super::line_of;
    use crate::value::{Step, ValuePath};

    #[test]
    fn a_value_is_found_where_it_is_written() {
        let text = "# a\nmigration:\n  # b\n  hook: true\n  \"a.b\": {c: 1,\n    d: 2}\njobs:\n- on: 1\n- {on: 2}\n";
        for (keys, found) in [
            (&["migration"][..], Some((2, true))),
            (&["migration", "hook"], Some((4, true))),
            (&["migration", "a.b", "d"], Some((6, true))),
            (&["migration", "missing"], Some((2, false))),
            (&["nothing"], None),
        ] {
            assert_eq!(line_of(text, &ValuePath::of_keys(keys.iter().copied())), found, "{keys:?}");
        }
        let item = ValuePath::of_keys(["jobs"]).then(Step::Item(1)).then(Step::Key("on".to_owned()));
        assert_eq!(line_of(text, &item), Some((9, true)));
        assert_eq!(line_of("a: [", &ValuePath::of_keys(["a"])), Some((1, true)));
        assert_eq!(line_of("", &ValuePath::of_keys(["a"])), None);
    }
}
