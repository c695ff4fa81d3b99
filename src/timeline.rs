//! The order in which a release runs: one revision beside the one that it is compared with. Pure, without any reading
//! or writing of files.
//!
//! ```text
//!  record, baseline ──> contents ──> Side: phases, lanes, entries    what one operation does, in Helm's order
//!  rendered texts ─────> sync ─────> Side                            what one sync does, in Argo CD's order
//!  findings of the rules ──────────> Timeline: and where they bite
//!                                        v
//!                                    layout: rows, crossings, needs  the same for the terminal and the picture
//!                                        v
//!                                    human   markdown   picture (svg, html)     json (of the timeline itself)
//! ```

mod contents;
mod human;
mod json;
mod layout;
mod markdown;
mod model;
mod page;
mod picture;
mod revisions;
mod side;
mod sync;
#[cfg(test)]
mod tests;

pub(crate) use human::write_human;
pub(crate) use json::write_json;
pub(crate) use markdown::write_markdown;
pub(crate) use model::Timeline;
pub(crate) use page::{write_html, write_svg};
