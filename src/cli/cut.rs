//! Cuts a stream into pieces that can be judged side by side.

use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::input::{Piece, Pieces};

/// So many bytes are read at once, and what they hold is worked on together.
const BATCH: usize = 64 * 1024;

/// Sends what there is before it waits for more, and says how far it is.
pub(super) fn cut(reader: Box<dyn Read + Send>, position: &AtomicU64, send: &dyn Fn(Vec<Piece>)) {
    let waiting = RefCell::new(Vec::new());
    let flush = || {
        let pieces = waiting.take();
        if !pieces.is_empty() {
            send(pieces);
        }
    };
    let reader = Before { reader: BufReader::with_capacity(BATCH, reader), position, wait: &flush };
    for piece in Pieces::new(reader) {
        waiting.borrow_mut().push(piece);
    }
    flush();
}

/// A reader that does something before it reads on, which can take as long as its writer likes.
struct Before<'a> {
    reader: BufReader<Box<dyn Read + Send>>,
    position: &'a AtomicU64,
    wait: &'a dyn Fn(),
}

impl Read for Before<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut available = self.fill_buf()?;
        let count = available.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Before<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.reader.buffer().is_empty() {
            (self.wait)();
        }
        self.reader.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.position.fetch_add(count as u64, Ordering::Relaxed);
        self.reader.consume(count);
    }
}
