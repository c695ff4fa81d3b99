//! Release records of every shape that Helm, an older Helm or a hostile hand can store, natively and inside the wasm.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use stable_hooks::engine::Answer;
use stable_hooks_host::cluster::ClusterView;

use crate::cases::in_one_line;
use crate::engines::{ask_with, cluster};
use crate::releases::render::{Revision, creation};
use crate::releases::{notes, reported};

const ACCOUNT: &str = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: orders\n";
const HOOK: &str =
    "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: orders\n  annotations:\n    helm.sh/hook: pre-upgrade\n";

/// A byte of a record that must not come out.
const CANARY: &str = "c4n4ry";

fn revision<'a>(version: u64, status: &'a str, rendered: &'a str) -> Revision<'a> {
    Revision::new("orders", "shop", version, status, rendered)
}

fn by_records() -> Value {
    json!({"releases": {"baseline": "record"}})
}

fn baseline(answer: &Answer) -> &str {
    let annotations = answer.response.audit_annotations.as_ref();
    annotations.and_then(|annotations| annotations.get("baseline")).map_or("", String::as_str)
}

/// Revision `version` turns the account into a hook; earlier ones are given.
fn flip(version: u64, status: &str, earlier: &[Value]) -> Answer {
    ask_with(&creation(&revision(version, status, HOOK).secret()), &by_records(), cluster(earlier))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// In a Secret everything is base64 twice.
fn stored(packed: &[u8]) -> String {
    STANDARD.encode(STANDARD.encode(packed))
}

#[test]
fn release_records_that_are_broken_are_named_by_stage_and_refused_if_told_so() {
    let json = json!({"name": "orders", "config": {"password": CANARY}, "manifest": ACCOUNT}).to_string();
    let whole = gzip(json.as_bytes());
    let mut wrong_sum = whole.clone();
    let at = wrong_sum.len() - 8;
    wrong_sum[at] ^= 1;
    let half = |bytes: &[u8]| bytes[..bytes.len() / 2].to_vec();
    let bomb = gzip(&vec![b' '; 17 << 20]);
    let stages = [
        ("?".to_owned(), "data.release is not base64"),
        (STANDARD.encode(&whole), "base64 once"),
        (stored(&half(&whole)), "the gzip in data.release is cut off"),
        (stored(&wrong_sum), "the gzip in data.release is broken"),
        (stored(&[whole.as_slice(), b"more"].concat()), "the gzip in data.release is cut off"),
        (stored(&[whole.as_slice(), &gzip(b"{}")].concat()), "broken JSON"),
        (stored(&gzip(&half(json.as_bytes()))), "the JSON in data.release is cut off"),
        (stored(&gzip(b"{'name': 1}")), "broken JSON"),
        (stored(b"\0\x01binary"), "neither gzip nor JSON"),
        (stored(&gzip(b"[]")), "not that of a release"),
        (stored(&gzip(br#"{"version": "2"}"#)), "not that of a release"),
        (stored(&gzip(br#"{"version": -1}"#)), "not that of a release"),
        (stored(&gzip(br#"{"hooks": {}}"#)), "not that of a release"),
        (stored(&bomb), "inflates to more than 16777216 bytes"),
    ];
    for (data, stage) in stages {
        let secret = revision(2, "pending-upgrade", "").secret_with(&data);
        let ask = |settings: &Value| ask_with(&creation(&secret), settings, ClusterView::default());
        let allowed = ask(&json!({}));
        assert!(allowed.response.accepted && reported(&allowed).is_empty(), "{stage}");
        let [note] = notes(&allowed).try_into().unwrap_or_else(|notes| panic!("{stage}: {notes:?}"));
        assert!(note.contains(stage) && !note.contains(CANARY), "{stage}: {note}");
        let refused = ask(&json!({"releases": {"undecodable": "deny"}})).response;
        let message = in_one_line(&refused.message.unwrap());
        assert!(!refused.accepted && refused.code == Some(400), "{stage}");
        assert!(message.contains(stage) && !message.contains(CANARY), "{stage}: {message}");
    }
}

#[test]
fn release_records_are_bounded_by_the_settings() {
    let limits = |name: &str, most: u64| json!({"releases": {"limits": {name: most}}});
    let rendered = [ACCOUNT, "---\n", HOOK, "---\nkind: A\n---\nkind: B\n"].concat();
    let secret = revision(1, "pending-install", &rendered).secret();
    let ask = |settings: &Value| notes(&ask_with(&creation(&secret), settings, cluster(&[])));
    assert_eq!(ask(&json!({})), [""; 0]);
    assert!(ask(&limits("documents", 2))[0].contains("releases.limits.documents"));
    assert!(ask(&limits("inflatedBytes", 100))[0].contains("inflates to more than 100 bytes"));
    // A record far above what Kubernetes stores is still read.
    let large = format!("{ACCOUNT}---\n# {}\n{HOOK}", "x".repeat(8 << 20));
    let answer = ask_with(&creation(&revision(1, "pending-install", &large).secret()), &json!({}), cluster(&[]));
    assert_eq!(reported(&answer).len(), 1, "{:?}", notes(&answer));
}

#[test]
fn release_records_in_config_maps_are_judged_alike() {
    let [first, second] = [(1, "deployed", ACCOUNT), (2, "pending-upgrade", HOOK)]
        .map(|(version, status, rendered)| as_config_map(&revision(version, status, rendered)));
    let mut request = creation(&second);
    request["kind"]["kind"] = json!("ConfigMap");
    let answer = ask_with(&request, &by_records(), cluster([&first]));
    assert_eq!(reported(&answer), ["release-identity-flip deny ServiceAccount/orders"]);
    assert_eq!(baseline(&answer), "revision 1 (deployed) and the live objects");
    // A Secret of the same name is another driver's.
    let answer = ask_with(&request, &by_records(), cluster([&revision(1, "deployed", ACCOUNT).secret()]));
    assert!(answer.response.accepted && notes(&answer)[0].starts_with("no earlier record"), "{:?}", notes(&answer));
    // Other ConfigMaps are none of our business.
    request["object"]["metadata"]["labels"] = json!({"owner": "somebody"});
    assert_eq!(ask_with(&request, &by_records(), cluster([&first])).response.audit_annotations, None);
}

/// What Helm's `configmap` driver stores: base64 once, and no type.
fn as_config_map(revision: &Revision<'_>) -> Value {
    let mut object = revision.secret();
    object["kind"] = json!("ConfigMap");
    object.as_object_mut().unwrap().remove("type");
    let twice = object["data"]["release"].as_str().unwrap();
    object["data"]["release"] = String::from_utf8(STANDARD.decode(twice).unwrap()).unwrap().into();
    object
}

#[test]
fn release_records_are_compared_with_the_highest_deployed_revision() {
    let [plain, hook] = [ACCOUNT, HOOK];
    let history = |revisions: &[(u64, &str, &str)]| {
        let secrets = revisions.iter().map(|(version, status, rendered)| revision(*version, status, rendered).secret());
        secrets.collect::<Vec<_>>()
    };
    let flips = "release-identity-flip deny ServiceAccount/orders";
    for (earlier, found, compared) in [
        // The last one failed: what lives is that of the one before.
        (
            history(&[(1, "superseded", hook), (2, "deployed", plain), (3, "failed", hook)]),
            Some(flips),
            "revision 2 (deployed)",
        ),
        (
            history(&[(1, "superseded", plain), (2, "deployed", hook), (3, "failed", plain)]),
            None,
            "revision 2 (deployed)",
        ),
        // None is deployed: the last one counts.
        (history(&[(2, "failed", hook), (3, "failed", plain)]), Some(flips), "revision 3 (failed)"),
        // Helm keeps only so many, and gaps are no end.
        (history(&[(1, "deployed", plain)]), Some(flips), "revision 1 (deployed)"),
    ] {
        let answer = flip(4, "pending-upgrade", &earlier);
        assert_eq!(reported(&answer).first().map(String::as_str), found, "{compared}");
        assert_eq!(baseline(&answer), format!("{compared} and the live objects"));
    }
    // A rollback runs against the last one, whatever became of it.
    let answer = flip(4, "pending-rollback", &history(&[(2, "deployed", hook), (3, "failed", plain)]));
    assert_eq!(reported(&answer), ["release-identity-flip warn ServiceAccount/orders"]);
    assert_eq!(baseline(&answer), "revision 3 (failed) and the live objects");
}

#[test]
fn release_records_are_looked_for_only_so_far_back() {
    let far = [revision(1, "deployed", ACCOUNT).secret()];
    let answer = flip(12, "pending-upgrade", &far);
    assert_eq!(baseline(&answer), "the live objects");
    assert!(notes(&answer)[0].starts_with("no earlier record"), "{:?}", notes(&answer));
    let settings = json!({"releases": {"baseline": "record", "limits": {"revisions": 11}}});
    let answer = ask_with(&creation(&revision(12, "pending-upgrade", HOOK).secret()), &settings, cluster(&far));
    assert_eq!(baseline(&answer), "revision 1 (deployed) and the live objects");
}

#[test]
fn release_records_that_cannot_be_compared_with_are_named() {
    let mut broken = revision(1, "deployed", ACCOUNT).secret();
    broken["data"]["release"] = json!(stored(b"?"));
    let answer = flip(2, "pending-upgrade", &[broken]);
    assert!(answer.response.accepted);
    assert_eq!(
        notes(&answer),
        ["no earlier record (a Secret) could be compared with: the earlier record cannot be read"]
    );
}

/// Flux stores records in one namespace and installs into another.
#[test]
fn release_records_lie_where_their_secret_lies_and_their_objects_where_the_record_says() {
    let stored = |version, status, rendered| {
        let mut secret = revision(version, status, rendered).secret();
        secret["metadata"]["namespace"] = json!("flux-system");
        secret
    };
    let request = creation(&stored(2, "pending-upgrade", HOOK));
    let first = stored(1, "deployed", ACCOUNT);
    let answer = ask_with(&request, &by_records(), cluster([&first]));
    assert_eq!(reported(&answer), ["release-identity-flip deny ServiceAccount/orders"]);
    let message = in_one_line(&answer.response.message.unwrap());
    assert!(message.contains("ServiceAccount shop/orders: "), "{message}");
    // Nobody runs Helm's command line there.
    assert!(
        message.contains("writes `releases.accept: [\"flux-system/orders@2:release-identity-flip\"]`"),
        "{message}"
    );
    // The record of another release of that name, in the objects' namespace, is not the baseline.
    let answer = ask_with(&request, &by_records(), cluster([&revision(1, "deployed", ACCOUNT).secret()]));
    assert!(answer.response.accepted && baseline(&answer) == "the live objects");
    // The live objects are looked up where they are.
    let live = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {
        "name": "orders", "namespace": "shop",
        "annotations": {"meta.helm.sh/release-name": "orders", "meta.helm.sh/release-namespace": "shop"},
    }});
    let answer = ask_with(&request, &json!({}), cluster([&live]));
    assert_eq!(reported(&answer), ["release-identity-flip deny ServiceAccount/orders"]);
}

#[test]
fn release_records_say_their_own_name_and_need_no_known_status() {
    let mut secret = revision(2, "pending-upgrade", HOOK).secret();
    secret["metadata"]["name"] = json!("somebody-else");
    let earlier = revision(1, "deployed", ACCOUNT).secret();
    let answer = ask_with(&creation(&secret), &by_records(), cluster([&earlier]));
    assert_eq!(reported(&answer), ["release-identity-flip deny ServiceAccount/orders"]);
    for status in ["pending-something", "", "PENDING-UPGRADE"] {
        let answer = flip(2, status, std::slice::from_ref(&earlier));
        assert!(answer.response.accepted && answer.response.warnings.is_none(), "{status}");
    }
}

/// Documents as charts write them: each holds the hook, or the resource that it was, in its own way.
#[test]
fn release_records_are_read_as_helm_reads_yaml() {
    let bom = format!("\u{feff}{ACCOUNT}");
    let windows = ACCOUNT.replace('\n', "\r\n");
    let plain = [
        (
            "a list",
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ServiceAccount\n  metadata: {name: orders}\n",
        ),
        ("a list of its kind", "apiVersion: v1\nkind: ServiceAccountList\nitems:\n- metadata: {name: orders}\n"),
        ("Windows line ends", windows.as_str()),
        ("a byte order mark", bom.as_str()),
        ("anchors", "apiVersion: &v v1\nkind: ServiceAccount\nmetadata: &m\n  name: &n orders\n  labels: {app: *n}\n"),
        ("a merge key", "base: &b {name: orders}\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  <<: *b\n"),
        ("a key twice", "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: other\n  name: orders\n"),
        ("an escape", "apiVersion: v1\nkind: \"Service\\x41ccount\"\nmetadata: {name: \"ord\\x65rs\"}\n"),
        (
            "an indented separator in a block scalar",
            "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: orders\n  annotations:\n    text: |\n      ---\n      kind: A\n",
        ),
        ("a comment with tabs", "# a\ttab\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: orders\n"),
    ];
    for (what, manifest) in plain {
        let answer = flip_of_manifest(manifest);
        assert_eq!(reported(&answer), ["release-identity-flip warn ServiceAccount/orders"], "{what}");
        assert_eq!(notes(&answer), [""; 0], "{what}");
    }
    for (what, manifest) in [
        ("tabs", "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n\tname: orders\n"),
        ("no YAML", "apiVersion: v1\nkind: ServiceAccount\nmetadata: [\n"),
        ("a separator at the margin of a block scalar", "text: |\n---\nkind: [ServiceAccount\n"),
    ] {
        let answer = flip_of_manifest(manifest);
        assert!(answer.response.accepted, "{what}");
        assert!(notes(&answer).iter().any(|note| note.contains("could not be read")), "{what}: {:?}", notes(&answer));
    }
}

/// The account, written that way in the first revision, is a hook in the second; the other way round it is read too.
fn flip_of_manifest(manifest: &str) -> Answer {
    let with = |version, status, manifest: &str, hooks: Value| {
        let record = json!({
            "name": "orders", "namespace": "shop", "version": version, "info": {"status": status},
            "manifest": manifest, "hooks": hooks,
        });
        revision(version, status, "").secret_with(&stored(&gzip(record.to_string().as_bytes())))
    };
    let hook = json!([{"name": "orders", "kind": "ServiceAccount", "path": "a.yaml", "manifest": HOOK, "events": ["pre-upgrade"]}]);
    let first = with(1, "deployed", "", hook);
    let second = with(2, "pending-upgrade", manifest, json!([]));
    ask_with(&creation(&second), &by_records(), cluster([&first]))
}
