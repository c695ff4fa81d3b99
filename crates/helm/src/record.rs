//! The release record that Helm stores (`pkg/storage/driver/util.go`): base64 of gzip of JSON, in a Secret in base64 again.
//!
//! Chart files, values and notes are skipped while parsing, so the most that is held is the JSON and its manifests.

pub(crate) mod base64;
mod chart;
mod json;
mod lenient;
mod revision;

use std::io::{ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use flate2::{Crc, Decompress, FlushDecompress};
use serde_json::error::Category;
use thiserror::Error;

pub use base64::decode as decode_base64;
use json::Raw;
pub use lenient::or_empty;
pub use revision::{ApplyMethod, DroppedHook, Record, RecordHook};

/// Without it Helm takes the bytes for plain JSON.
const GZIP: [u8; 3] = [0x1f, 0x8b, 0x08];

/// Deflate cannot do better than that, whatever the size says that ends a gzip.
const BEST_RATIO: usize = 1032;

/// Limits of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The size of its JSON. About as much again is held for its manifests.
    pub inflated_bytes: usize,
}

impl Default for Limits {
    /// Twice what the largest charts come to; two such records take a small part of the 2 s that a policy has.
    fn default() -> Self {
        Self { inflated_bytes: 16 << 20 }
    }
}

/// At which stage a record turned out not to be one. Never says a byte of it.
#[derive(Debug, Clone, Copy, Error, PartialEq, Eq)]
pub enum DecodeError {
    #[error("data.release is not base64")]
    Base64,
    #[error("data.release is base64 once, where a Secret has it twice")]
    InnerBase64,
    #[error("the gzip in data.release is cut off")]
    GzipCutOff,
    #[error("the gzip in data.release is broken")]
    Gzip,
    #[error("data.release inflates to more than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the JSON in data.release is cut off")]
    JsonCutOff,
    #[error("data.release holds neither gzip nor JSON, or broken JSON")]
    Json,
    #[error("the JSON in data.release is not that of a release, or it has more than 10,000 hooks")]
    NotARelease,
}

/// The JSON in a text of base64; with `twice`, in base64 of base64, as a Secret's data has it.
pub(crate) fn json_of(data: &str, twice: bool, limit: usize) -> Result<Vec<u8>, DecodeError> {
    let once = base64::decode(data.as_bytes()).ok_or(DecodeError::Base64)?;
    let packed = if twice { base64::decode(&once).ok_or(DecodeError::InnerBase64)? } else { once };
    unpack(packed, limit)
}

fn unpack(packed: Vec<u8>, limit: usize) -> Result<Vec<u8>, DecodeError> {
    let json = if packed.starts_with(&GZIP) { inflate(&packed, limit)? } else { packed };
    if json.len() > limit {
        return Err(DecodeError::TooLarge { limit });
    }
    Ok(json)
}

/// Reads what [`json_of`] found.
pub(crate) fn read(json: &[u8]) -> Result<Record, DecodeError> {
    // serde would read a list as the fields in their order.
    if json.trim_ascii_start().starts_with(b"[") {
        return Err(DecodeError::NotARelease);
    }
    let raw: Option<Raw> = serde_json::from_slice(json).map_err(|error| match error.classify() {
        Category::Eof => DecodeError::JsonCutOff,
        Category::Data => DecodeError::NotARelease,
        Category::Syntax | Category::Io => DecodeError::Json,
    })?;
    Ok(raw.map(Record::from).unwrap_or_default())
}

/// At most one byte more than `limit`.
fn inflate(packed: &[u8], limit: usize) -> Result<Vec<u8>, DecodeError> {
    // Room for all of it at once: growing would hold it twice.
    let size = packed.last_chunk().map_or(0, |size| u32::from_le_bytes(*size));
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let most = limit.min(packed.len().saturating_mul(BEST_RATIO));
    let mut json = Vec::with_capacity(most.min(size));
    if size <= most && inflate_member(packed, &mut json).is_some() {
        return Ok(json);
    }
    json.clear();
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    match MultiGzDecoder::new(packed).take(bound).read_to_end(&mut json) {
        Ok(_) => Ok(json),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(DecodeError::GzipCutOff),
        Err(_) => Err(DecodeError::Gzip),
    }
}

/// A gzip of one member with a bare header that fits into `json`, which is what Helm writes: quicker than a stream, as
/// nothing is copied.
fn inflate_member(packed: &[u8], json: &mut Vec<u8>) -> Option<()> {
    let (start, size) = packed.split_last_chunk()?;
    let (start, sum) = start.split_last_chunk()?;
    // No flags, and what says when, how well and where it was packed.
    let [0, _, _, _, _, _, _, deflated @ ..] = start.strip_prefix(&GZIP)? else { return None };
    let mut decompress = Decompress::new(false);
    decompress.decompress_vec(deflated, json, FlushDecompress::Finish).ok()?;
    let mut found = Crc::new();
    found.update(json);
    let is_all = usize::try_from(decompress.total_in()) == Ok(deflated.len())
        && (found.amount(), found.sum()) == (u32::from_le_bytes(*size), u32::from_le_bytes(*sum));
    is_all.then_some(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use base64::Engine;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use serde_json::{Value, json};

    use super::base64::BASE64;
    use super::{ApplyMethod, DecodeError, Limits, Record};
    use crate::storage::Storage;
    use crate::testing::test;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(packed: &[u8]) -> Result<Record, DecodeError> {
        Storage::ConfigMap.decode(&BASE64.encode(packed), Limits::default())
    }

    fn record(json: Value) -> Record {
        decode(&gzip(json.to_string().as_bytes())).unwrap()
    }

    #[test]
    fn reads_what_helm_wrote() {
        let json = json!({
            "name": "orders", "namespace": "shop", "version": 2, "apply_method": "ssa",
            "info": {"status": "pending-upgrade", "description": "Preparing upgrade", "notes": "x", "deleted": ""},
            "chart": {"metadata": {"name": "flip"}, "files": [{"name": "a", "data": "?"}], "values": {"a": [1]}},
            "config": {"manifest": 5}, "manifest": "---\n# Source: a\n",
            "hooks": [{
                "name": "migrate", "kind": "Job", "path": "flip/templates/job.yaml", "manifest": "kind: Job\n",
                "events": ["pre-upgrade"], "weight": -1, "delete_policies": ["hook-failed"],
                "output_log_policies": ["hook-succeeded"],
                "last_run": {"started_at": "", "phase": ""},
            }, null],
        });
        let packed = gzip(json.to_string().as_bytes());
        let found = decode(&packed).unwrap();
        let secret = BASE64.encode(BASE64.encode(&packed));
        assert_eq!(Storage::Secret.decode(&secret, Limits::default()), Ok(found.clone()));
        assert_eq!((found.name.as_str(), found.namespace.as_str(), found.version), ("orders", "shop", 2));
        assert_eq!((found.status.as_str(), found.description.as_str()), ("pending-upgrade", "Preparing upgrade"));
        assert_eq!((found.manifest.as_str(), found.apply_method), ("---\n# Source: a\n", ApplyMethod::ServerSide));
        let [hook] = found.hooks.as_slice() else { panic!("one hook") };
        assert_eq!((hook.kind.as_str(), hook.name.as_str(), hook.weight), ("Job", "migrate", -1));
        assert_eq!((hook.path.as_str(), hook.manifest.as_str()), ("flip/templates/job.yaml", "kind: Job\n"));
        assert_eq!(
            (hook.events.as_slice(), hook.delete_policies.as_slice()),
            (&["pre-upgrade".to_owned()][..], &["hook-failed".to_owned()][..])
        );
        assert_eq!(hook.output_log_policies, ["hook-succeeded"]);
    }

    #[test]
    fn absent_and_null_are_empty() {
        let nulls = json!({
            "name": null, "version": null, "info": null, "chart": null, "manifest": null, "hooks": null,
            "apply_method": null,
        });
        for json in [json!({}), json!(null), nulls, json!({"hooks": [], "chart": {"templates": null}, "info": {}})] {
            assert_eq!(record(json.clone()), Record::default(), "{json}");
        }
    }

    #[test]
    fn plain_json_and_line_ends_are_read_as_helm_reads_them() {
        let json = br#"{"name":"a"}"#;
        assert_eq!(decode(json).unwrap().name, "a");
        let text = BASE64.encode(gzip(json));
        let (start, end) = text.split_at(10);
        assert_eq!(Storage::ConfigMap.decode(&format!("{start}\r\n{end}\n"), Limits::default()).unwrap().name, "a");
        // Go is not strict about the last character's spare bits: this is `{}`.
        assert_eq!(Storage::ConfigMap.decode("e31=", Limits::default()), Ok(Record::default()));
    }

    #[test]
    fn members_of_a_gzip_are_joined_and_checked() {
        let (first, second) = (gzip(br#"{"name":"#), gzip(br#""a"}"#));
        assert_eq!(decode(&[first.clone(), second].concat()).unwrap().name, "a");
        assert_eq!(decode(&[first.as_slice(), &first[..20]].concat()), Err(DecodeError::GzipCutOff));
        assert_eq!(decode(&[first.as_slice(), b"more than a header"].concat()), Err(DecodeError::Gzip));
        let mut wrong_sum = gzip(b"{}");
        let at = wrong_sum.len() - 8;
        wrong_sum[at] ^= 1;
        assert_eq!(decode(&wrong_sum), Err(DecodeError::Gzip));
    }

    #[test]
    fn every_stage_can_be_wrong() {
        let whole = gzip(br#"{"name":"a"}"#);
        let secret = |data: &str| Storage::Secret.decode(data, Limits::default()).unwrap_err();
        assert_eq!(secret("?"), DecodeError::Base64);
        assert_eq!(secret("e30"), DecodeError::Base64);
        assert_eq!(secret(&BASE64.encode(&whole)), DecodeError::InnerBase64);
        assert_eq!(decode(&whole[..whole.len() - 9]), Err(DecodeError::GzipCutOff));
        assert_eq!(decode(&whole[..5]), Err(DecodeError::GzipCutOff));
        assert_eq!(decode(b""), Err(DecodeError::JsonCutOff));
        assert_eq!(decode(&gzip(br#"{"name":"a"#)), Err(DecodeError::JsonCutOff));
        for json in [&b"hunter2"[..], b"{} {}", b"{\"name\":\"\xff\"}", b"\x1f\x8b"] {
            assert_eq!(decode(json), Err(DecodeError::Json), "{json:?}");
        }
        for json in [
            r#"{"version":"2"}"#,
            r#"{"version":-1}"#,
            r#"{"version":18446744073709551616}"#,
            r#"{"manifest":5}"#,
            r#"{"hooks":{}}"#,
            r#"{"hooks":[{"events":"pre-install"}]}"#,
            r#"{"name":"a","name":"b"}"#,
            "[[]]",
        ] {
            assert_eq!(decode(json.as_bytes()), Err(DecodeError::NotARelease), "{json}");
        }
    }

    #[test]
    fn a_bomb_is_bounded() {
        let limits = Limits { inflated_bytes: 1000 };
        let fits = format!("{{}}{}", " ".repeat(998));
        let large = format!("{fits} ");
        for (json, expected) in [(fits, Ok(Record::default())), (large, Err(DecodeError::TooLarge { limit: 1000 }))] {
            assert_eq!(Storage::ConfigMap.decode(&BASE64.encode(gzip(json.as_bytes())), limits), expected);
            assert_eq!(Storage::ConfigMap.decode(&BASE64.encode(json), limits), expected);
        }
        // A size that lies reserves nothing.
        let mut packed = gzip(b"{}");
        let at = packed.len() - 4;
        packed[at..].fill(0xff);
        assert_eq!(decode(&packed), Err(DecodeError::Gzip));
    }
}
