//! The template that an object comes from.

mod line;

use std::collections::BTreeMap;

use stable_hooks_policy::name::Name;

use crate::judged::Place;
use crate::render::{Render, is_of};
pub(crate) use line::line_of;

/// The sources of a chart's templates, by their paths inside of the chart.
pub(crate) type Templates = BTreeMap<String, String>;

/// The template of an object's field, as Helm calls it, and where it stands there.
pub(crate) fn origin<'r>(
    renders: impl IntoIterator<Item = &'r Render>,
    (object, path): (&Name, &str),
    namespace: &str,
    templates: &Templates,
) -> Option<Place> {
    let documents = renders.into_iter().flat_map(|render| render.named(&object.name));
    let document = documents.into_iter().find(|document| is_of(document, object, namespace))?;
    let (_, inside) = document.template.split_once('/')?;
    let line = templates.get(inside).and_then(|source| line_of(source, &object.kind, path));
    Some(Place { file: document.template.clone(), line })
}
