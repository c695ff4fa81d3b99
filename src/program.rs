//! Other programs, each run for so long at most.

use std::io::{self, Read};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Why a program has no end of its own.
#[derive(Debug)]
pub(crate) enum Failed {
    Run(io::Error),
    /// It was killed.
    TooSlow {
        limit: Duration,
    },
}

/// Runs a program to its end, and holds what it prints; with a limit it is killed where it takes longer.
///
/// A program that it has started itself can outlive it. None of them is waited for.
pub(crate) fn output(program: &mut Command, limit: Option<Duration>) -> Result<Output, Failed> {
    let Some(limit) = limit else { return program.output().map_err(Failed::Run) };
    let begun = Instant::now();
    let mut child = program.stdout(Stdio::piped()).spawn().map_err(Failed::Run)?;
    let (sender, receiver) = mpsc::channel();
    let read = |pipe: Option<Box<dyn Read + Send>>| {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let result = pipe.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut bytes));
            // Nobody waits any more for what comes too late.
            let _ = sender.send(());
            result.map(|_| bytes)
        })
    };
    let stdout = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let stderr = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    // Both are at their end when the program is, or soon after.
    let is_said = (0..2).all(|_| receiver.recv_timeout(limit.saturating_sub(begun.elapsed())).is_ok());
    let status = loop {
        match child.try_wait().map_err(Failed::Run)? {
            Some(status) if is_said => break status,
            None if is_said && begun.elapsed() < limit => thread::sleep(Duration::from_millis(1)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Failed::TooSlow { limit });
            }
        }
    };
    let bytes = |thread: JoinHandle<io::Result<Vec<u8>>>| {
        thread.join().unwrap_or_else(|_| Err(io::Error::other("its words cannot be read"))).map_err(Failed::Run)
    };
    Ok(Output { status, stdout: bytes(stdout)?, stderr: bytes(stderr)? })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::{Failed, output};

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]).stdin(Stdio::null()).stderr(Stdio::piped());
        shell
    }

    #[test]
    fn a_program_that_ends_in_time_has_said_the_same_with_and_without_a_limit() {
        for limit in [None, Some(Duration::from_mins(1))] {
            let output = output(&mut shell("echo out; echo err >&2; exit 3"), limit).unwrap();
            assert_eq!((output.stdout, output.stderr), (b"out\n".to_vec(), b"err\n".to_vec()));
            assert_eq!(output.status.code(), Some(3));
        }
    }

    #[test]
    fn a_program_that_hangs_is_given_up_also_where_its_own_child_goes_on() {
        for script in ["exec sleep 30", "sleep 30; :", "exec >&- 2>&-; exec sleep 30"] {
            let begun = Instant::now();
            let limit = Duration::from_millis(300);
            let failed = output(&mut shell(script), Some(limit));
            assert!(matches!(failed, Err(Failed::TooSlow { .. })), "{script}");
            assert!(begun.elapsed() < Duration::from_secs(20), "{script}");
        }
    }
}
