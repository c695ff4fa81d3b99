//! Smaller pairs than a pair, one step each.

use super::pair::{Chart, Layout, Object, Operation, Pair, Setting, Stored, Via, Way};

/// The smallest first.
#[must_use]
pub(super) fn smaller(pair: &Pair) -> Vec<Pair> {
    let mut smaller = Vec::new();
    let mut try_it = |change: &mut dyn FnMut(&mut Pair)| {
        let mut other = pair.clone();
        change(&mut other);
        if other != *pair {
            smaller.push(other);
        }
    };
    for object in pair.objects() {
        try_it(&mut |pair| {
            for chart in &mut pair.charts {
                chart.objects.retain(|other| (other.kind, other.name) != object);
            }
        });
    }
    for step in 1..pair.steps.len().saturating_sub(1) {
        let is_needed = pair.last().operation == Operation::Replace;
        try_it(&mut |pair| {
            if !is_needed {
                pair.steps.remove(step);
            }
        });
    }
    try_it(&mut |pair| pair.charts[1] = pair.charts[0].clone());
    try_it(&mut |pair| pair.charts[0] = pair.charts[1].clone());
    try_it(&mut |pair| pair.layout = Layout::Chart);
    try_it(&mut |pair| pair.is_alone = false);
    for step in 0..pair.steps.len() {
        try_it(&mut |pair| with_step(pair, step, |settings, _| settings.clear()));
        try_it(&mut |pair| with_step(pair, step, |_, stored| *stored = Stored::ByDefault));
        for setting in 0..pair.steps.get(step).map_or(0, |step| step.settings.len()) {
            try_it(&mut |pair| {
                with_step(pair, step, |settings, _| {
                    settings.remove(setting);
                });
            });
            try_it(&mut |pair| {
                with_step(pair, step, |settings, _| {
                    for setting in settings.iter_mut().skip(setting).take(1) {
                        setting.via = Via::File;
                    }
                });
            });
        }
    }
    let objects: Vec<_> = pair.objects().collect();
    for (kind, name) in objects {
        let features: Vec<_> = pair
            .charts
            .iter()
            .flat_map(|chart| &chart.objects)
            .filter(|object| (object.kind, object.name) == (kind, name))
            .flat_map(|object| object.features.iter().copied())
            .collect();
        let is_it = |object: &&mut Object| (object.kind, object.name) == (kind, name);
        for feature in features {
            try_it(&mut |pair| {
                for object in objects_of(pair).filter(is_it) {
                    object.features.remove(&feature);
                }
            });
        }
        for way in [Way::Plain, Way::Hook, Way::If(".Release.IsUpgrade")] {
            try_it(&mut |pair| {
                let is_simple = |object: &&mut Object| !matches!(object.way, Way::Plain | Way::Hook);
                for object in objects_of(pair).filter(is_it).filter(is_simple) {
                    object.way = way;
                }
            });
        }
        try_it(&mut |pair| {
            for object in objects_of(pair).filter(is_it) {
                object.events = "pre-install,pre-upgrade";
            }
        });
    }
    smaller
}

fn objects_of(pair: &mut Pair) -> impl Iterator<Item = &mut Object> {
    pair.charts.iter_mut().flat_map(|Chart { objects, .. }| objects)
}

fn with_step(pair: &mut Pair, step: usize, change: impl FnOnce(&mut Vec<Setting>, &mut Stored)) {
    if let Some(step) = pair.steps.get_mut(step) {
        change(&mut step.settings, &mut step.stored);
    }
}
