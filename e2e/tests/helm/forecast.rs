//! What `stable-hooks forecast` says of many releases, and whether it comes true.

use std::collections::BTreeSet;
use std::thread;

use serde_json::Value;
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::scene::Scene;
use stable_hooks_e2e::world::World;

use crate::works::report;
use crate::{Case, Report};

const RELEASES: usize = 50;

/// The releases that will flip, scattered among the others.
const FLIPS: [usize; 5] = [3, 14, 15, 27, 49];

/// Side by side; Helm waits for nothing here.
const AT_ONCE: usize = 4;

pub(crate) const CASES: &[Case] = &[Case {
    section: "What is foretold",
    name: "Fifty releases, five of which will flip",
    about: "`stable` and `upgrade-only-hook`, in two namespaces that no webhook watches: `stable-hooks forecast -A`.",
    run: five_of_fifty,
    ..Case::EMPTY
}];

fn five_of_fifty(world: &World, major: Major) -> Report {
    let scenes = ["forecast", "forecast too"].map(|name| Scene::new(world, name, major, None));
    let of = |number: usize| if number.is_multiple_of(2) { &scenes[0] } else { &scenes[1] };
    let name = |number: usize| format!("release-{number:02}");
    thread::scope(|scope| {
        for first in 0..AT_ONCE {
            scope.spawn(move || {
                for number in (first..RELEASES).step_by(AT_ONCE) {
                    // Without its hooks a stable chart is installed at once, and its record is the same.
                    let (chart, more) = if FLIPS.contains(&number) {
                        ("upgrade-only-hook", [].as_slice())
                    } else {
                        ("stable", ["--no-hooks"].as_slice())
                    };
                    let _ = of(number).install(&name(number), chart, more).succeeds();
                }
            });
        }
    });
    scenes.iter().for_each(Scene::settle);
    let before = scenes.each_ref().map(Scene::snapshot);

    let run = scenes[0].stable_hooks(&["forecast", "-A", "-o", "json"]);
    let forecast: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    // Other scenarios have releases in the same cluster.
    let ours: Vec<_> = forecast["releases"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|release| scenes.iter().any(|scene| release["namespace"] == scene.namespace.as_str()))
        .collect();
    let foretold = |outlook: &str| -> BTreeSet<_> {
        let found = ours.iter().filter(|release| release["outlook"] == outlook);
        found.map(|release| release["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(foretold("flips"), FLIPS.map(name).into(), "{forecast:#}");
    assert_eq!(foretold("stable").len(), RELEASES - FLIPS.len(), "{forecast:#}");
    assert_eq!(scenes.each_ref().map(Scene::snapshot), before, "nothing has changed");

    // It comes true, without any policy.
    for number in FLIPS {
        let _ = of(number).upgrade(&name(number), "upgrade-only-hook", &[]).succeeds();
        assert!(of(number).find("Job", &format!("{}-migrations", name(number))).is_none(), "{number}: the Job is gone");
    }
    report(
        &scenes[0],
        "It names these five and no other, and changes nothing. Upgraded, each of the five loses its Job.",
        &[],
    )
}
