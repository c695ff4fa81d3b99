//! A record as it is stored.

use std::cmp::Reverse;

use helm::history;
use helm::operation::Operation;
use helm::record::{DecodeError, Limits, Record};
use helm::storage::{self, Label, Storage};
use helm::write::Revision;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::input::{Content, request_of};

/// The statuses with which Helm creates a record.
const PENDING: [&str; 3] = ["pending-install", "pending-upgrade", "pending-rollback"];

/// A release record in its Secret or `ConfigMap`, as far as it must be known to find its baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRecord {
    pub(super) object: Value,
    /// Helm looks for all records of a release in one kind of object.
    pub(super) storage: Storage,
    /// Where the record is stored; with Flux the release's objects live elsewhere.
    namespace: String,
    release: String,
    version: u64,
    /// The status of the record now.
    status: String,
    /// The status with which Helm created the record.
    pending: String,
    /// It is deployed, or was so before it was superseded.
    was_deployed: bool,
    /// As it says itself, the revision that a rollback went back to.
    rollback_to: Option<u64>,
    /// nelm has written it: what its next upgrade does, Helm's rules do not tell.
    is_of_nelm: bool,
}

/// Why an object that should be a record is none. Never says a byte of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RecordError {
    #[error("there is no data.release")]
    NoData,
    #[error(transparent)]
    Decode(#[from] DecodeError),
    #[error("data.release has no name or no version")]
    Nameless,
    #[error("the chart in data.release is none that Helm would have written")]
    Chart,
}

/// The object that an `AdmissionRequest` would create or a file holds, if it is meant to be a release record.
///
/// Other objects and other operations are none of the release rules' business.
#[must_use]
pub fn record_object(content: Content) -> Option<Value> {
    let object = match content {
        Content::Manifest(object) => object,
        Content::Request(mut request) => {
            let text = |pointer| request.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
            let is_create = text("/operation") == "CREATE" && text("/subResource").is_empty();
            let (group, version, kind) = (text("/kind/group"), text("/kind/version"), text("/kind/kind"));
            let mut object = request.get_mut("object").map(Value::take).filter(|_| is_create && group.is_empty())?;
            let fields = object.as_object_mut()?;
            fields.entry("apiVersion").or_insert(version.into());
            fields.entry("kind").or_insert(kind.into());
            object
        }
    };
    storage_of(&object).map(|_| object)
}

/// As the policy tells records from other Secrets and `ConfigMaps`.
fn storage_of(object: &Value) -> Option<Storage> {
    let text = |field| object.get(field).and_then(Value::as_str);
    let storage = Storage::of("", text("apiVersion")?, text("kind")?)?;
    storage.marks(object).then_some(storage)
}

impl StoredRecord {
    /// Reads what [`record_object`] found.
    ///
    /// # Errors
    ///
    /// When its data is no release.
    pub fn read(object: Value, limits: Limits) -> Result<Self, RecordError> {
        let storage = storage_of(&object).ok_or(RecordError::NoData)?;
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
        let record = decode(storage, &object, limits)?;
        if record.name.is_empty() || record.version == 0 {
            return Err(RecordError::Nameless);
        }
        let (is_first, rollback_to) = (record.is_first(), record.rolled_back_to());
        let is_of_nelm = record.is_of_nelm();
        let is_good = record.was_deployed();
        let is_rollback = rollback_to.is_some() || record.is_failed_rollback();
        let namespace = text("/metadata/namespace").map_or(record.namespace, str::to_owned);
        let status = text("/metadata/labels/status").map_or(record.status, str::to_owned);
        let pending = match status.as_str() {
            pending if PENDING.contains(&pending) => pending,
            _ if is_first => "pending-install",
            _ if is_rollback => "pending-rollback",
            _ => "pending-upgrade",
        };
        let pending = pending.to_owned();
        let was_deployed = status == "deployed" || (status == "superseded" && is_good);
        let (release, version) = (record.name, record.version);
        Ok(Self {
            object,
            storage,
            namespace,
            release,
            version,
            status,
            pending,
            was_deployed,
            rollback_to,
            is_of_nelm,
        })
    }

    /// A record as Helm would store it in a Secret, of the JSON that a Secret holds, with further labels.
    ///
    /// # Errors
    ///
    /// When it is no release.
    pub fn of_json<'l>(
        release: &Value,
        labels: impl IntoIterator<Item = (&'l str, &'l str)>,
        limits: Limits,
    ) -> Result<Self, RecordError> {
        let text = |pointer| release.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let revision = release.get("version").and_then(Value::as_u64).unwrap_or_default();
        let label = Label { release: text("/name"), revision, status: text("/info/status") };
        let mut object = Storage::Secret.object(&label, text("/namespace"), &Storage::Secret.pack(release));
        if let Some(known) = object.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            for (key, value) in labels {
                known.entry(key).or_insert_with(|| value.into());
            }
        }
        Self::read(object, limits)
    }

    /// The record that Helm would begin to write of a chart's render, in that namespace.
    #[must_use]
    pub fn of(revision: &Revision<'_>, storage: Storage, stored_in: &str) -> Self {
        Self {
            storage,
            namespace: stored_in.to_owned(),
            release: revision.name.to_owned(),
            version: revision.version,
            status: revision.status.to_owned(),
            pending: revision.status.to_owned(),
            was_deployed: false,
            rollback_to: None,
            is_of_nelm: false,
            object: revision.stored_as(storage),
        }
    }

    #[must_use]
    pub fn storage(&self) -> Storage {
        self.storage
    }

    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Where it is stored.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    #[must_use]
    pub fn release(&self) -> &str {
        &self.release
    }

    /// The operation in which Helm created it; `None` where its status names none.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        Operation::of_status(&self.pending)
    }

    /// The revision that it holds; `None` where it cannot be read.
    #[must_use]
    pub fn decoded(&self, limits: Limits) -> Option<Record> {
        decode(self.storage, &self.object, limits).ok()
    }

    /// Orders a history: release by release, the oldest revision first.
    #[must_use]
    pub fn order(&self) -> impl Ord + use<> {
        (self.namespace.clone(), self.release.clone(), Reverse(self.storage), self.version)
    }

    /// nelm (werf) deploys the release, and not Helm.
    #[must_use]
    pub fn is_of_nelm(&self) -> bool {
        self.is_of_nelm
    }

    /// The request with which Helm created it.
    #[must_use]
    pub fn request(&self) -> Value {
        let object = self.stored_as(&self.pending, None);
        request_of(Content::Manifest(object), false)
    }

    /// The record to compare this one with: for an upgrade the one it started from, for a rollback the last revision.
    /// If two records have the same revision, the one given last counts.
    #[must_use]
    pub fn baseline<'a>(&self, records: impl IntoIterator<Item = &'a Self>) -> Option<&'a Self> {
        let is_earlier = |other: &&Self| {
            let same =
                (other.storage, &other.namespace, &other.release) == (self.storage, &self.namespace, &self.release);
            same && other.version < self.version
        };
        let earlier = records.into_iter().filter(is_earlier);
        let mut earlier: Vec<_> = earlier.collect();
        earlier.sort_by_key(|other| other.was_deployed);
        let deployed = earlier.iter().filter(|other| other.was_deployed).map(|other| other.version).max();
        // A rollback that fails leaves the revision before it superseded: nothing is deployed then.
        let is_lost = |deployed| {
            earlier
                .iter()
                .any(|other| Some(other.version) == u64::checked_add(deployed, 1) && other.is_failed_rollback())
        };
        let deployed = deployed.filter(|deployed| !is_lost(*deployed));
        let is_deployed = |other: &&Self| other.was_deployed && Some(other.version) == deployed;
        history::start_among(self.operation()?, earlier, |other| other.version, is_deployed)
    }

    /// The revision that the next upgrade starts from.
    #[must_use]
    pub fn current<'a>(records: impl IntoIterator<Item = &'a Self>) -> Option<&'a Self> {
        let is_deployed = |record: &&Self| record.status == "deployed";
        history::start_among(Operation::Upgrade, records, |record| record.version, is_deployed)
    }

    /// Takes it for an upgrade where it only says that it is a rollback: it does not hold what that revision holds.
    pub fn compare_with_target(&mut self, records: &[Self], limits: Limits) {
        let Some(version) = self.rollback_to.filter(|_| self.pending == "pending-rollback") else { return };
        let is_target = |other: &&Self| {
            let of = |record: &Self| (record.storage, record.namespace.clone(), record.release.clone());
            of(other) == of(self) && other.version == version
        };
        let Some(target) = records.iter().find(is_target).and_then(|target| target.decoded(limits)) else { return };
        if self.decoded(limits).is_some_and(|own| !own.holds_the_same(&target)) {
            "pending-upgrade".clone_into(&mut self.pending);
        }
    }

    /// As it was while the next revision was created: deployed then, if it was superseded since.
    #[must_use]
    pub fn as_baseline(&self) -> Value {
        let status = if self.was_deployed { "deployed" } else { &self.status };
        self.stored_as(status, Some(storage::record_name(&self.release, self.version)))
    }

    /// The same in the place of the revision before: for comparing two renders of one revision.
    #[must_use]
    pub fn as_the_revision_before(self) -> Self {
        Self { version: self.version.saturating_sub(1), was_deployed: true, ..self }
    }

    fn is_failed_rollback(&self) -> bool {
        self.status == "failed" && self.operation() == Some(Operation::Rollback)
    }

    /// Helm has uninstalled the release, and kept its history.
    #[must_use]
    pub fn is_uninstalled(&self) -> bool {
        self.status.starts_with("uninstall")
    }

    fn stored_as(&self, status: &str, name: Option<String>) -> Value {
        let mut object = self.object.clone();
        if let Some(metadata) = field(&mut object, "metadata") {
            metadata.insert("namespace".to_owned(), json!(self.namespace));
            if let Some(name) = name {
                metadata.insert("name".to_owned(), name.into());
            }
        }
        if let Some(labels) = object.get_mut("metadata").and_then(|metadata| field(metadata, "labels")) {
            labels.insert("status".to_owned(), status.into());
        }
        object
    }
}

fn decode(storage: Storage, object: &Value, limits: Limits) -> Result<Record, RecordError> {
    let data = storage::data(object).ok_or(RecordError::NoData)?;
    Ok(storage.decode(data, limits)?)
}

/// An object's field that is an object itself, made where there is none.
fn field<'a>(object: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    let field = object.as_object_mut()?.entry(name).or_insert(Value::Null);
    if !field.is_object() {
        *field = json!({});
    }
    field.as_object_mut()
}
