//! Servers that end, lookups that hang, rights that are gone, an API server that is started anew.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stable_hooks_e2e::helm::Run;
use stable_hooks_e2e::kubewarden::Stack;
use stable_hooks_e2e::scene::{Scene, history_text};

use crate::rollout::{flip_is_denied, flip_is_denied_again};
use crate::stage::{Stage, without_address};
use crate::{Report, Scenario};

const SECTION: &str = "The bad day";

/// For each Helm: half of them flip, and half are stable.
const RELEASES: usize = 10;

/// So many of the twenty run at once.
const AT_ONCE: usize = 6;

/// The trouble begins when so many have ended, and ends when so many more have.
const BEGINS: usize = 5;
const ENDS: usize = 14;

/// What the API server waits for the releases policy.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A busy machine.
const LENIENCY: Duration = Duration::from_secs(20);

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        section: SECTION,
        name: "One of two servers is killed, again and again, under Ignore",
        about: "Twenty upgrades, ten with each Helm, half of them flips; meanwhile a server is killed whenever both are there.",
        run: |stack| one_is_killed(stack, "base"),
    },
    Scenario {
        section: SECTION,
        name: "The same under Fail",
        about: "`overlays/fail-closed`.",
        run: |stack| one_is_killed(stack, "overlays/fail-closed"),
    },
    Scenario {
        section: SECTION,
        name: "All servers go away and come back under Ignore",
        about: "The same twenty upgrades. When five have ended both servers are killed, and they come back when fourteen have.",
        run: |stack| all_are_away(stack, "base"),
    },
    Scenario {
        section: SECTION,
        name: "All servers go away and come back under Fail",
        about: "`overlays/fail-closed`.",
        run: |stack| all_are_away(stack, "overlays/fail-closed"),
    },
    Scenario {
        section: SECTION,
        name: "A lookup hangs under Ignore",
        about: "The API server does not answer the policy-servers, and answers everybody else. A flip is upgraded.",
        run: |stack| a_lookup_hangs(stack, "base"),
    },
    Scenario {
        section: SECTION,
        name: "A lookup hangs under Fail",
        about: "`overlays/fail-closed`.",
        run: |stack| a_lookup_hangs(stack, "overlays/fail-closed"),
    },
    Scenario {
        section: SECTION,
        name: "The server's rights are taken away",
        about: "`overlays/fail-closed`; its ClusterRoleBinding is deleted, and applied again.",
        run: rights_are_gone,
    },
    Scenario {
        section: SECTION,
        name: "The API server is started anew",
        about: "`overlays/fail-closed`, and the twenty upgrades. When five have ended the API server is killed, and a second later\n\
                started.",
        run: api_server_restarts,
    },
];

/// One of the twenty.
struct Operation<'stage> {
    scene: &'stage Scene<'stage>,
    release: String,
    flips: bool,
}

struct Ended<'stage> {
    operation: Operation<'stage>,
    run: Run,
    took: Duration,
}

impl Operation<'_> {
    fn chart(&self) -> &'static str {
        if self.flips { "upgrade-only-hook" } else { "stable" }
    }

    fn upgrade(&self) -> Run {
        self.scene.upgrade(&self.release, self.chart(), &[])
    }

    fn history(&self) -> String {
        history_text(&self.scene.helm.history(&self.release))
    }
}

fn operations<'stage>(stage: &'stage Stage<'_>) -> Vec<Operation<'stage>> {
    let one = |index: usize| {
        let scene = &stage.scenes[index % 2];
        // In turns, so that some of each kind meet the trouble.
        Operation { scene, release: format!("orders-{}", index / 2), flips: (index / 2).is_multiple_of(2) }
    };
    (0..2 * RELEASES).map(one).collect()
}

/// Installs the twenty, upgrades them, and does this from the moment that some have ended, with how many have.
fn twenty<'stage>(stage: &'stage Stage<'_>, trouble: impl FnOnce(&AtomicUsize)) -> Vec<Ended<'stage>> {
    let _ = side_by_side(
        operations(stage),
        |operation| operation.scene.install(&operation.release, operation.chart(), &[]).succeeds(),
        |_| {},
    );
    stage.scenes.iter().for_each(Scene::settle);
    side_by_side(operations(stage), Operation::upgrade, trouble)
}

fn side_by_side<'stage>(
    operations: Vec<Operation<'stage>>,
    act: impl Fn(&Operation<'stage>) -> Run + Sync,
    meanwhile: impl FnOnce(&AtomicUsize),
) -> Vec<Ended<'stage>> {
    let (waiting, ended) = (Mutex::new(operations), Mutex::new(Vec::new()));
    let count = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(operation) = { waiting.lock().expect("no panic").pop() } {
                    let begun = Instant::now();
                    let run = act(&operation);
                    ended.lock().expect("no panic").push(Ended { operation, run, took: begun.elapsed() });
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        meanwhile(&count);
    });
    ended.into_inner().expect("no panic")
}

fn wait_until(count: &AtomicUsize, ended: usize) {
    while count.load(Ordering::Relaxed) < ended {
        thread::sleep(Duration::from_millis(10));
    }
}

/// What became of an upgrade.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Fate {
    /// It was denied, or went through as it may.
    Judged,
    /// It was refused, and nothing of it has happened.
    Untouched,
    /// It was judged, and an object of it was refused later: Helm says that it has failed.
    Failed,
    /// Nobody judged it, and the audit log says so.
    InAudit,
}

/// Nothing is lost: each of them has a fate.
fn fates(stack: &Stack, ended: &[Ended<'_>]) -> BTreeSet<Fate> {
    let fate = |Ended { operation, run, took }: &Ended<'_>| {
        let Operation { scene, release, flips } = operation;
        assert!(*took < TIMEOUT + LENIENCY, "{release}: {took:?}");
        let unjudged = stack.let_in_unjudged(&scene.namespace);
        let history = operation.history();
        let what = format!("{} {release}: {history}\n{}", scene.namespace, run.stderr);
        if unjudged.contains(&format!("sh.helm.release.v1.{release}.v2")) {
            return Fate::InAudit;
        }
        match (run.success, flips, history.as_str()) {
            (true, false, "1 superseded, 2 deployed") => Fate::Judged,
            (true, ..) => panic!("a flip that nobody knows of: {what}"),
            (false, true, "1 deployed") if run.is_denied_by("release-identity-flip") => Fate::Judged,
            (false, _, "1 deployed") => Fate::Untouched,
            (false, false, "1 deployed, 2 failed" | "1 deployed, 2 pending-upgrade") => Fate::Failed,
            _ => panic!("{what}"),
        }
    };
    ended.iter().map(fate).collect()
}

/// When it is over each release gets on: what is stable is upgraded, and what flips is denied.
fn get_on(stage: &Stage<'_>, ended: &[Ended<'_>]) {
    stage.settle();
    for Ended { operation, run, .. } in ended.iter().filter(|ended| !ended.run.success) {
        let Operation { scene, release, flips } = operation;
        if operation.history().ends_with("pending-upgrade") {
            let _ = scene.helm.run(&["rollback", release, "1"]).succeeds();
        }
        let again = operation.upgrade();
        if *flips {
            assert!(again.is_denied_by("release-identity-flip"), "{release}: {}\n{}", again.stderr, run.stderr);
        } else {
            let _ = again.succeeds();
        }
    }
}

fn one_is_killed(stack: &Stack, manifests: &str) -> Report {
    let stage = Stage::with(stack, &format!("killed {manifests}"), manifests);
    let mut killed = 0;
    let ended = twenty(&stage, |count| {
        while count.load(Ordering::Relaxed) < 2 * RELEASES {
            killed += usize::from(stack.kill_one());
            thread::sleep(Duration::from_millis(300));
        }
    });
    assert!(killed > 0, "two servers were there to begin with");
    let fates = fates(stack, &ended);
    assert!(fates.contains(&Fate::Judged), "{fates:?}");
    get_on(&stage, &ended);
    if manifests == "base" {
        assert!(!fates.contains(&Fate::Untouched), "{fates:?}");
        return Report::new(
            "Each upgrade is judged, or the API server's audit log names its record: none is refused for want of a server. No\n\
             flip goes through that is not in the log.",
            Vec::new(),
        );
    }
    assert!(!fates.contains(&Fate::InAudit), "{fates:?}");
    Report::new(
        "No flip goes through. Each upgrade is judged, or refused before anything has happened, or has failed on an object that\n\
         was refused, and Helm says so. Repeated afterwards, each stable one goes through.",
        Vec::new(),
    )
}

fn all_are_away(stack: &Stack, manifests: &str) -> Report {
    let stage = Stage::with(stack, &format!("away {manifests}"), manifests);
    let ended = twenty(&stage, |count| {
        wait_until(count, BEGINS);
        stack.outage();
        wait_until(count, ENDS);
        stack.outage_is_over();
    });
    let fates = fates(stack, &ended);
    get_on(&stage, &ended);
    if manifests == "base" {
        assert!(fates.contains(&Fate::InAudit) && !fates.contains(&Fate::Untouched), "{fates:?}");
        let through = ended.iter().filter(|ended| ended.operation.flips && ended.run.success).count();
        assert!(through > 0, "a flip met the trouble");
        return Report::new(
            "Nobody waits and nobody is refused. What is upgraded meanwhile is not judged, flips included; the audit log of the API\n\
             server names the record of each (`failed-open`), so that it is known what to look at.",
            Vec::new(),
        );
    }
    assert!(fates.contains(&Fate::Untouched) && !fates.contains(&Fate::InAudit), "{fates:?}");
    Report::new(
        "What begins meanwhile is refused at once, and nothing of it has happened; what is in the middle fails on a hook that is\n\
         refused, and Helm says so. No flip goes through. When the servers are back each stable one goes through, repeated.",
        Vec::new(),
    )
}

fn a_lookup_hangs(stack: &Stack, manifests: &str) -> Report {
    let stage = Stage::with(stack, &format!("hangs {manifests}"), manifests);
    stage.with_each_helm(|scene| assert!(!flip_is_denied(scene).is_empty()));
    stack.lookups_hang(true);
    let is_closed = manifests != "base";
    let said = stage.with_each_helm(|scene| {
        let (begun, before) = (Instant::now(), scene.snapshot());
        let run = scene.upgrade("orders", "upgrade-only-hook", &[]);
        let took = begun.elapsed();
        assert!(took + Duration::from_secs(1) > TIMEOUT && took < TIMEOUT + LENIENCY, "{took:?}");
        if !is_closed {
            let _ = run.succeeds();
            let unjudged = stack.let_in_unjudged(&scene.namespace);
            assert!(unjudged.contains(&"sh.helm.release.v1.orders.v2".to_owned()), "{unjudged:?}");
            return Vec::new();
        }
        let refused = run.fails();
        assert_eq!(scene.snapshot(), before);
        let (_, why) = refused.error().split_once("Internal error occurred: ").expect("the API server says why");
        vec![without_address(why)]
    });
    stack.lookups_hang(false);
    if is_closed {
        stage.settle();
        stage.with_each_helm(|scene| assert!(!flip_is_denied_again(scene).is_empty()));
        return Report::new(
            "It is refused after ten seconds, and nothing has changed. When lookups are answered again, it is denied at once.",
            said,
        );
    }
    Report::new(
        "It goes through after ten seconds, unjudged, and the audit log of the API server names its record.",
        said,
    )
}

fn rights_are_gone(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "rights", "overlays/fail-closed");
    stage.with_each_helm(|scene| assert!(!flip_is_denied(scene).is_empty()));
    let _ = stage.kubectl("delete clusterrolebinding stable-hooks-policy-server").succeeds();
    let said = stage.with_each_helm(|scene| {
        let run = scene.upgrade("orders", "upgrade-only-hook", &[]);
        let outcome = if run.success { "goes through" } else { "fails" }.to_owned();
        let warnings = run.warnings().into_iter().map(|warning| scene.shown(&warning));
        [outcome].into_iter().chain(warnings).collect::<Vec<_>>()
    });
    stage.apply("overlays/fail-closed");
    stage.with_each_helm(|scene| {
        let _ = scene.install("again", "upgrade-only-hook", &[]).succeeds();
        let run = scene.upgrade("again", "upgrade-only-hook", &[]).fails();
        assert!(run.is_denied_by("release-identity-flip"), "{}", run.stderr);
    });
    let (outcome, said) = said.split_first().expect("an outcome");
    assert_eq!(outcome, "goes through");
    let seen = "Releases get on, and each warning names what was not checked and why: a policy that may look nothing up denies\n\
                nothing for that. So the flip goes through. With the binding back the next one is denied.";
    Report::new(seen, said.to_vec())
}

fn api_server_restarts(stack: &Stack) -> Report {
    let stage = Stage::with(stack, "restart", "overlays/fail-closed");
    let (plane, tools) = (&stack.world.plane, &stack.world.tools);
    let ended = twenty(&stage, |count| {
        wait_until(count, BEGINS);
        plane.stop_api_server();
        thread::sleep(Duration::from_secs(1));
        plane.start_api_server(tools).expect("the API server starts");
    });
    let fates = fates(stack, &ended);
    assert!(fates.contains(&Fate::Judged) && !fates.contains(&Fate::InAudit), "{fates:?}");
    assert!(
        ended.iter().any(|ended| ended.run.stderr.contains("connection refused") || ended.run.stderr.contains("EOF"))
    );
    get_on(&stage, &ended);
    let seen = "No flip goes through. What begins meanwhile fails in Helm, which reaches nobody; what is in the middle has failed,\n\
                or is left pending where Helm could not write that down, and `helm rollback` frees it. Then each stable one goes\n\
                through, and each flip is denied: policy-servers and controller find the API server again by themselves.";
    Report::new(seen, Vec::new())
}
