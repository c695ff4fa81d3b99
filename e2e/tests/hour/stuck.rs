//! Helm that was killed in the middle, and how it goes on.

use std::thread;

use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::page::{Page, is_printed};
use stable_hooks_e2e::scene::{Scene, history_text};
use stable_hooks_e2e::world::World;

pub(crate) const SECTION: &str = "## Helm is stuck in pending";
const LOOK: &str = "### See which";
const ROLL_BACK: &str = "### 1. The last line says pending-upgrade or pending-rollback";
const UNINSTALL: &str = "### 2. There is one line, and it says pending-install";
const FORGET: &str = "### 3. Last of all: forget the revision";

pub(crate) fn page(world: &World) {
    let page = Page::read("worst-hour.md");
    let headings = [LOOK, ROLL_BACK, UNINSTALL, FORGET];
    let run: Vec<_> = headings.iter().flat_map(|heading| page.commands_below(heading)).collect();
    assert_eq!(run, page.commands_below(SECTION), "each command of the section is run");
    thread::scope(|scope| {
        for major in Major::ALL {
            for case in [upgrade, rollback, install, forget] {
                let page = &page;
                // A panic in one of them is the scope's.
                let _ = scope.spawn(move || case(world, major, page));
            }
        }
    });
}

/// A release whose second revision was killed when its record was there.
fn killed_upgrade<'world>(world: &'world World, major: Major, name: &str) -> Scene<'world> {
    let scene = Scene::new(world, name, major, None);
    let _ = scene.install("orders", "stable", &[]).succeeds();
    let chart = scene.chart("stable");
    scene.killed(&["upgrade", "orders", &chart, "--set", "image=orders:2"], || is_recorded(&scene, 2));
    assert_eq!(history_text(&scene.helm.history("orders")), "1 deployed, 2 pending-upgrade");
    scene
}

fn is_recorded(scene: &Scene<'_>, revision: u32) -> Option<()> {
    scene.find("Secret", &format!("sh.helm.release.v1.orders.v{revision}")).map(|_| ())
}

#[track_caller]
fn run_all(scene: &Scene<'_>, page: &Page, heading: &str) {
    for command in page.commands_below(heading) {
        let _ = scene.line_of_a_page(&command, "stable").succeeds();
    }
}

/// The next operation is refused, in the words of the page.
fn is_stuck(scene: &Scene<'_>, page: &Page) {
    let refused = scene.upgrade("orders", "stable", &[]).fails();
    let [message] = &page.messages_below(SECTION)[..] else { panic!("one message") };
    assert!(is_printed(message, &refused.stderr), "{}", refused.stderr);
    run_all(scene, page, LOOK);
}

fn goes_on(scene: &Scene<'_>) {
    let _ = scene.upgrade("orders", "stable", &["--set", "image=orders:3"]).succeeds();
    assert_eq!(scene.get("ConfigMap", "orders")["data"]["image"], "orders:3");
}

fn upgrade(world: &World, major: Major, page: &Page) {
    let scene = killed_upgrade(world, major, "killed upgrade");
    is_stuck(&scene, page);
    run_all(&scene, page, ROLL_BACK);
    // Helm supersedes what was deployed; the stuck revision keeps its status, and nobody asks about it any more.
    let history = scene.helm.history("orders");
    assert_eq!(history.last().map(|(revision, status)| (*revision, status.as_str())), Some((3, "deployed")));
    goes_on(&scene);
}

fn rollback(world: &World, major: Major, page: &Page) {
    let scene = Scene::new(world, "killed rollback", major, None);
    let chart = "recipe-init-container";
    let _ = scene.install("orders", chart, &[]).succeeds();
    let _ = scene.upgrade("orders", chart, &["--set", "image=orders:2"]).succeeds();
    // Its Deployment is waited for.
    scene.killed(&["rollback", "orders", "1", "--wait"], || is_recorded(&scene, 3));
    assert_eq!(history_text(&scene.helm.history("orders")), "1 superseded, 2 deployed, 3 pending-rollback");
    is_stuck(&scene, page);
    for command in page.commands_below(ROLL_BACK) {
        let _ = scene.line_of_a_page(&command.replace("orders 1", "orders 2"), chart).succeeds();
    }
    let _ = scene.upgrade("orders", chart, &["--set", "image=orders:3"]).succeeds();
}

fn install(world: &World, major: Major, page: &Page) {
    let scene = Scene::new(world, "killed install", major, None);
    let chart = scene.chart("stable");
    scene.killed(&["install", "orders", &chart], || is_recorded(&scene, 1));
    assert_eq!(history_text(&scene.helm.history("orders")), "1 pending-install");
    is_stuck(&scene, page);
    run_all(&scene, page, UNINSTALL);
    let _ = scene.install("orders", "stable", &[]).succeeds();
    goes_on(&scene);
}

fn forget(world: &World, major: Major, page: &Page) {
    let scene = killed_upgrade(world, major, "forgotten upgrade");
    is_stuck(&scene, page);
    run_all(&scene, page, FORGET);
    assert_eq!(history_text(&scene.helm.history("orders")), "1 deployed");
    goes_on(&scene);
}
