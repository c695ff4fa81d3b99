//! The parts that a picture is made of.

use crate::timeline::layout::Column;

/// The name of a side, above its column.
pub(in crate::timeline) struct Label {
    pub(in crate::timeline) x: i32,
    pub(in crate::timeline) y: i32,
    pub(in crate::timeline) side: Column,
    pub(in crate::timeline) text: String,
    pub(in crate::timeline) revision: Option<u64>,
}

pub(in crate::timeline) struct Band {
    /// The line above it has this place.
    pub(in crate::timeline) y: i32,
    pub(in crate::timeline) titles: Vec<Written>,
}

pub(in crate::timeline) struct Written {
    pub(in crate::timeline) x: i32,
    pub(in crate::timeline) y: i32,
    /// `before`, `after` or another word for how it looks.
    pub(in crate::timeline) class: String,
    pub(in crate::timeline) text: String,
}

pub(in crate::timeline) struct Line {
    pub(in crate::timeline) from: i32,
    pub(in crate::timeline) to: i32,
    pub(in crate::timeline) y: i32,
}

pub(in crate::timeline) struct Curve {
    pub(in crate::timeline) path: String,
    pub(in crate::timeline) class: &'static str,
    /// In words.
    pub(in crate::timeline) text: String,
}

pub(in crate::timeline) struct PictureCell {
    pub(in crate::timeline) side: Column,
    pub(in crate::timeline) class: &'static str,
    /// The place of the mark.
    pub(in crate::timeline) x: i32,
    pub(in crate::timeline) y: i32,
    pub(in crate::timeline) text_x: i32,
    pub(in crate::timeline) kind: String,
    /// As much as there is room for.
    pub(in crate::timeline) name: String,
    /// All of it.
    pub(in crate::timeline) full: String,
    /// In words.
    pub(in crate::timeline) weight: Option<String>,
    pub(in crate::timeline) details: Vec<Written>,
    pub(in crate::timeline) mark: Mark,
    /// The width of the text, in pixels.
    pub(super) length: i32,
}

pub(in crate::timeline) enum Mark {
    Dot,
    Cross,
    /// The findings that bite here.
    Pill {
        class: &'static str,
        text: String,
        left: i32,
        width: i32,
        first: usize,
    },
}

pub(in crate::timeline) struct PictureFinding {
    pub(in crate::timeline) number: usize,
    pub(in crate::timeline) class: &'static str,
    pub(in crate::timeline) x: i32,
    pub(in crate::timeline) y: i32,
    pub(in crate::timeline) rule: String,
    pub(in crate::timeline) lines: Vec<Written>,
}
