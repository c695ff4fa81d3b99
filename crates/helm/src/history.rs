//! The revision of a release that an operation starts from.

use crate::operation::Operation;

/// The revision that an operation starts from, of those that there are, the newest first: an upgrade starts from the
/// last one that is deployed, else from the last; a rollback from the last; an install from nothing.
///
/// No more revisions are taken than it needs, since each can cost a lookup.
///
/// # Errors
///
/// The first one that comes up on the way.
pub fn start<R, E>(
    operation: Operation,
    newest_first: impl IntoIterator<Item = Result<R, E>>,
    is_deployed: impl Fn(&R) -> bool,
) -> Result<Option<R>, E> {
    let mut last = None;
    for revision in newest_first {
        let revision = revision?;
        match operation {
            Operation::Install => return Ok(None),
            Operation::Rollback => return Ok(Some(revision)),
            Operation::Upgrade if is_deployed(&revision) => return Ok(Some(revision)),
            Operation::Upgrade => {
                last.get_or_insert(revision);
            }
        }
    }
    Ok(last)
}

/// The same where all revisions are known, in any order; of two with one version the last one counts.
pub fn start_among<R>(
    operation: Operation,
    revisions: impl IntoIterator<Item = R>,
    version: impl Fn(&R) -> u64,
    is_deployed: impl Fn(&R) -> bool,
) -> Option<R> {
    let mut revisions: Vec<R> = revisions.into_iter().collect();
    revisions.sort_by_key(version);
    let newest_first = revisions.into_iter().rev().map(Ok::<R, std::convert::Infallible>);
    start(operation, newest_first, is_deployed).unwrap_or_else(|never| match never {})
}

#[cfg(test)]
mod tests {
    use super::{start, start_among};
    use crate::operation::Operation::{Install, Rollback, Upgrade};
    use crate::testing::test;

    fn of(operation: crate::operation::Operation, revisions: &[(u64, &'static str)]) -> Option<u64> {
        let found = start_among(
            operation,
            revisions.iter().copied(),
            |(version, _)| *version,
            |(_, status)| *status == "deployed",
        );
        found.map(|(version, _)| version)
    }

    #[test]
    fn an_upgrade_starts_from_what_is_deployed_and_a_rollback_from_the_last() {
        let history = [(9, "superseded"), (10, "deployed"), (11, "failed")];
        assert_eq!((of(Upgrade, &history), of(Rollback, &history), of(Install, &history)), (Some(10), Some(11), None));
        assert_eq!(of(Upgrade, &[(2, "failed"), (1, "failed")]), Some(2));
        assert_eq!(of(Upgrade, &[]), None);
    }

    #[test]
    fn nothing_is_asked_for_that_is_not_needed() {
        let asked = |operation| {
            let mut count = 0;
            let revisions = [(3, false), (2, true), (1, false)].into_iter().inspect(|_| count += 1).map(Ok::<_, ()>);
            let found = start(operation, revisions, |(_, is_deployed)| *is_deployed).unwrap();
            (found.map(|(version, _)| version), count)
        };
        assert_eq!((asked(Upgrade), asked(Rollback)), ((Some(2), 2), (Some(3), 1)));
        assert_eq!(start(Upgrade, [Ok((3, false)), Err("no")], |(_, is_deployed)| *is_deployed), Err("no"));
    }
}
