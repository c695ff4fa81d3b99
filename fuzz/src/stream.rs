//! A file that is reviewed: however its bytes arrive, it holds the same objects, and a long list those of a short one.

use std::io::{BufReader, Read};

use serde_json::Value;
use stable_hooks::input::{Content, Documents, Pieces, documents};

use crate::canary::{assert_silent, secrets, sings};
use crate::cost::{Most, bounded};

/// A document may copy 16 MiB with its aliases.
const COST: Most =
    Most { bytes: 200 << 20, bytes_for_each: 2_000, allocations: 10_000_000, allocations_for_each: 5_000 };

/// Two items with that make a list so long that it is read item by item.
const LONG: usize = 70_000;

/// Reads one file. The first byte chooses what stands around the text.
pub fn stream(input: &[u8]) {
    let Some((choice, text)) = input.split_first() else { return };
    let whole = bounded(COST, text.len(), || read(documents(text)));
    let reader = BufReader::with_capacity(1 + usize::from(*choice) % 7, Few(text));
    assert_eq!(read(Documents::of(Pieces::new(reader))), whole);
    list(*choice, text);
    if !str::from_utf8(text).is_ok_and(sings) {
        let with_secrets = [text, secrets().as_bytes()].concat();
        for error in documents(&with_secrets).filter_map(Result::err) {
            assert_silent(&error.to_string());
        }
    }
}

/// The text as what stands behind the first two items of a list.
fn list(choice: u8, text: &[u8]) {
    let around = |filler: usize| {
        let job = |name| {
            let filler = "x".repeat(filler);
            format!(
                "{{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{{\"name\":\"{name}\",\"uid\":\"{filler}\"}}}}"
            )
        };
        let begin = match choice % 4 {
            0 => "[",
            1 => "{\"kind\":\"AList\",\"apiVersion\":\"v1\",\"items\":[",
            2 => "{\"kind\":\"Volume\",\"items\":[",
            _ => "{\n    \"items\": [\n",
        };
        [format!("{begin}{},\n{}", job("a"), job("b")).as_bytes(), text].concat()
    };
    let (short, long) = (around(0), around(LONG));
    let long = bounded(COST, long.len(), || read(documents(&long)));
    // Of a list that is broken, the items before that are told where it is long. What says behind the items that it
    // is none, or what they are, comes too late there.
    let is_told_alike = || {
        let list: Value = serde_json::from_slice(&short).ok()?;
        let kind = |list: &Value| list.get("kind")?.as_str().map(str::to_owned);
        let is_list = kind(&list).is_none_or(|kind| kind == "List" || choice % 4 == 1 && kind == "AList");
        let text = String::from_utf8_lossy(text);
        (is_list && text.matches("\"items\"").count() == 0 && !text.contains("\"apiVersion\"")).then_some(())
    };
    if is_told_alike().is_some() {
        let plain = |found: &[Found]| found.iter().map(|found| found.as_ref().ok().cloned()).collect::<Vec<_>>();
        let (mut short, mut long) = (plain(&read(documents(&short))), plain(&long));
        if choice % 4 == 3 && !short.is_empty() && short[0].is_none() {
            // Nothing says that it is a list: a long one is told in full, and that.
            return;
        }
        for first in short.iter_mut().chain(&mut long).flatten() {
            first["metadata"]["uid"] = Value::Null;
        }
        assert_eq!(short, long);
    }
}

type Found = Result<Value, String>;

fn read<P: Iterator<Item = stable_hooks::input::Piece>>(documents: Documents<P>) -> Vec<Found> {
    let object = |content| match content {
        Content::Request(object) | Content::Manifest(object) => object,
    };
    documents.map(|found| found.map(|document| object(document.content)).map_err(|error| error.to_string())).collect()
}

/// Gives a few bytes at a time.
struct Few<'a>(&'a [u8]);

impl Read for Few<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let few = buffer.len().min(5);
        self.0.read(&mut buffer[..few])
    }
}
