//! libyaml's events in safe hands.

#![expect(unsafe_code, reason = "libyaml is C, transpiled")]

use std::ffi::CStr;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use unsafe_libyaml::{
    YAML_ALIAS_EVENT, YAML_DOCUMENT_START_EVENT, YAML_MAPPING_START_EVENT, YAML_SCALAR_EVENT,
    YAML_SEQUENCE_START_EVENT, YAML_STREAM_START_EVENT, yaml_event_delete, yaml_event_t, yaml_parser_delete,
    yaml_parser_initialize, yaml_parser_parse, yaml_parser_set_input_string, yaml_parser_t,
};

pub(super) enum Event {
    StreamStart,
    DocumentStart,
    Alias {
        anchor: String,
    },
    Scalar {
        anchor: Option<String>,
        tag: Option<String>,
        text: String,
        is_implicit: bool,
    },
    SequenceStart {
        anchor: Option<String>,
    },
    MappingStart {
        anchor: Option<String>,
    },
    /// Of a collection, a document or the stream.
    End,
}

pub(super) struct Parser<'t> {
    /// In a place of its own: the parser points to itself.
    parser: Box<MaybeUninit<yaml_parser_t>>,
    text: PhantomData<&'t str>,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut parser = Box::new(MaybeUninit::uninit());
        // SAFETY: the text outlives the parser, which does not move.
        unsafe {
            assert!(yaml_parser_initialize(parser.as_mut_ptr()).ok, "no memory for a parser");
            yaml_parser_set_input_string(parser.as_mut_ptr(), text.as_ptr(), text.len() as u64);
        }
        Self { parser, text: PhantomData }
    }

    /// `None` after an error.
    pub(super) fn next(&mut self) -> Option<Event> {
        let mut event = MaybeUninit::<yaml_event_t>::uninit();
        // SAFETY: the parser was initialized, and so is the event where parsing succeeds.
        unsafe {
            if yaml_parser_parse(self.parser.as_mut_ptr(), event.as_mut_ptr()).fail {
                return None;
            }
            let read = read(event.assume_init_ref());
            yaml_event_delete(event.as_mut_ptr());
            read
        }
    }
}

impl Drop for Parser<'_> {
    fn drop(&mut self) {
        // SAFETY: it was initialized, once.
        unsafe { yaml_parser_delete(self.parser.as_mut_ptr()) }
    }
}

/// # Safety
///
/// libyaml made the event.
unsafe fn read(event: &yaml_event_t) -> Option<Event> {
    // SAFETY: the type says which part of the union was written; texts end with a zero byte, or are null.
    unsafe {
        let text = |text: *mut u8| {
            (!text.is_null()).then(|| CStr::from_ptr(text.cast()).to_str().ok().map(str::to_owned)).flatten()
        };
        Some(match event.type_ {
            YAML_STREAM_START_EVENT => Event::StreamStart,
            YAML_DOCUMENT_START_EVENT => Event::DocumentStart,
            YAML_ALIAS_EVENT => Event::Alias { anchor: text(event.data.alias.anchor)? },
            YAML_SCALAR_EVENT => {
                let scalar = event.data.scalar;
                let value = std::slice::from_raw_parts(scalar.value, usize::try_from(scalar.length).ok()?);
                Event::Scalar {
                    anchor: text(scalar.anchor),
                    tag: text(scalar.tag),
                    text: String::from_utf8(value.to_vec()).ok()?,
                    is_implicit: scalar.plain_implicit,
                }
            }
            YAML_SEQUENCE_START_EVENT => Event::SequenceStart { anchor: text(event.data.sequence_start.anchor) },
            YAML_MAPPING_START_EVENT => Event::MappingStart { anchor: text(event.data.mapping_start.anchor) },
            _ => Event::End,
        })
    }
}
