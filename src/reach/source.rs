//! A template's source, parsed.

use gotmpl::parse::{ListNode, Node, Parser};

/// The parser goes one call deeper for each `else` of a chain.
const MOST_ELSE: usize = 20_000;

#[derive(Debug)]
pub(super) struct Source {
    pub(super) body: ListNode,
    /// The named templates in it.
    pub(super) defined: Vec<(String, ListNode)>,
}

/// Parses a template that errors call by that name.
///
/// # Errors
///
/// When it does not parse, in the parser's words.
pub(super) fn parse(name: &str, text: &str) -> Result<Source, String> {
    let chain = text.matches("else").count();
    if chain > MOST_ELSE {
        return Err(format!("{chain} times `else`, {MOST_ELSE} at most are read"));
    }
    let parsed = Parser::with_name(Some(name), text, "{{", "}}").and_then(Parser::parse);
    let (body, defined) = parsed.map_err(|error| error.to_string())?;
    let defined = defined.into_iter().map(|define| (define.name.to_string(), define.body)).collect();
    Ok(Source { body, defined })
}

/// Go puts a template without any text in the place of none that has some.
pub(super) fn is_empty(body: &ListNode) -> bool {
    body.nodes.iter().all(|node| match node {
        Node::Text(text) => text.text.trim().is_empty(),
        node => matches!(node, Node::Define(_)),
    })
}
