//! What works with the options of Flux's controller, and with its records apart from the objects.

use serde_json::json;
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::scene::{Scene, history_text};
use stable_hooks_e2e::webhook::Options;
use stable_hooks_e2e::world::{LIVE, World, looks_at_objects};

use crate::works::{ran, report};
use crate::{Case, Report};

const CASE: Case = Case { section: "Flux's way", helms: &[Major::Four], ..Case::EMPTY };

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "A stable chart under Flux",
        about: "`stable`, its records in another namespace.",
        run: |world, major| {
            let scene = Scene::new(world, "stable under flux", major, Some(LIVE)).with_records_apart(Some(LIVE));
            let mut runs = vec![scene.flux("install", "orders", "stable", &[]).succeeds()];
            let mut last = ran(&scene, "orders-migrations", None);
            for image in ["image=orders:2", "image=orders:3"] {
                runs.push(scene.flux("upgrade", "orders", "stable", &[image]).succeeds());
                last = ran(&scene, "orders-migrations", Some(&last));
            }
            report(&scene, "Installed and upgraded twice; the migration ran every time.", &runs)
        },
        ..CASE
    },
    Case {
        name: "A flip under Flux is accepted by the settings",
        about: "`upgrade-only-hook`: Flux cannot label a record, so `releases.accept` names the revision, in the namespace of the records.",
        run: accepted_by_settings,
        ..CASE
    },
];

fn accepted_by_settings(world: &World, major: Major) -> Report {
    let (name, webhook) = ("accepted under flux", "accepted-under-flux");
    // Made before the webhook, whose settings hold the name of the namespace with the records.
    let scene = Scene::new(world, name, major, Some(webhook)).with_records_apart(Some(webhook));
    let settings = json!({"releases": {"accept": [format!("{}/orders@2", scene.records_namespace())]}});
    let _webhook = world.webhook(webhook, &Options { settings, ..Options::default() }, &looks_at_objects());
    let _ = scene.flux("install", "orders", "upgrade-only-hook", &[]).succeeds();
    scene.settle();
    let run = scene.flux("upgrade", "orders", "upgrade-only-hook", &[]).succeeds();
    assert_eq!(history_text(&scene.helm.history("orders")), "1 superseded, 2 deployed");
    assert!(run.warnings().iter().any(|warning| warning.contains("(rule release-identity-flip)")), "{}", run.stderr);
    report(
        &scene,
        "With `releases.accept: [\"flux-system/orders@2\"]` the upgrade goes through, with warnings.",
        &[run],
    )
}
