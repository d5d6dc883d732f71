//! A file as lines: of bounded length, without carriage returns, without the tools' own noise.

use crate::subnet::records::Place;
use std::io::{self, BufRead};

/// Longest line that is read, but of a whole text; the text beyond is cut off and reported.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// Lines of a file, one at a time in one buffer.
pub struct Lines<'a> {
    input: &'a mut dyn BufRead,
    source: u32,
    buffer: Vec<u8>,
    max_bytes: u64,
    /// Longest line that is not cut.
    longest: usize,
    /// Number of the current line, from 1.
    pub number: u32,
    /// Whether the current line came with its end: what a file that was cut off ends in does not.
    pub is_ended: bool,
    /// Bytes read so far.
    pub n_bytes: u64,
    /// Number of the first line that was cut because it was too long.
    pub cut: Option<u32>,
    /// Whether the file was given up because it has no end.
    pub endless: bool,
}

impl<'a> Lines<'a> {
    /// The lines of the source of a number, up to so many bytes.
    pub fn new(input: &'a mut dyn BufRead, source: u32, max_bytes: u64) -> Lines<'a> {
        Lines {
            input,
            source,
            buffer: Vec::new(),
            max_bytes,
            longest: MAX_LINE_BYTES,
            number: 0,
            is_ended: false,
            n_bytes: 0,
            cut: None,
            endless: false,
        }
    }

    /// The next line without its end, or nothing at the end of the file. Lines that libraries under
    /// the tools write (`ibwarn: [...]`, `ibdebug:`) are passed over.
    pub fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            if !self.fill()? {
                return Ok(None);
            }
            if !is_noise(&self.buffer) {
                return Ok(Some(&self.buffer));
            }
        }
    }

    /// A line of this source.
    pub fn at(&self, line: u32) -> Place {
        Place { source: self.source, line }
    }

    /// The current line.
    pub fn place(&self) -> Place {
        self.at(self.number)
    }

    /// The next line with its place.
    pub fn next_bytes(&mut self) -> io::Result<Option<(Place, &[u8])>> {
        let there = self.next_line()?.is_some();
        Ok(there.then_some((self.place(), &self.buffer)))
    }

    /// The next line as text; bytes that are no UTF-8 are replaced.
    pub fn next_text(&mut self) -> io::Result<Option<(Place, String)>> {
        let next = self.next_bytes()?;
        Ok(next.map(|(place, line)| (place, String::from_utf8_lossy(line).into_owned())))
    }

    /// The next line that is not blank, as text.
    pub fn next_full(&mut self) -> io::Result<Option<(Place, String)>> {
        loop {
            match self.next_text()? {
                Some((_, line)) if line.trim().is_empty() => {}
                next => return Ok(next),
            }
        }
    }

    /// Everything up to the end as one text, of `limit` bytes at most; longer ones are cut. It may
    /// be one line, as programs write JSON.
    pub fn whole_text(&mut self, limit: usize) -> io::Result<String> {
        self.longest = limit;
        let mut whole = Vec::new();
        while self.next_line()?.is_some() {
            if whole.len() + self.buffer.len() >= limit {
                self.endless = true;
                break;
            }
            if whole.is_empty() {
                std::mem::swap(&mut whole, &mut self.buffer);
            } else {
                whole.extend_from_slice(&self.buffer);
            }
            whole.push(b'\n');
        }
        let text = String::from_utf8(whole);
        Ok(text.unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()))
    }

    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.clear();
        if self.n_bytes >= self.max_bytes {
            self.endless = true;
            return Ok(false);
        }
        let mut begun = false;
        loop {
            let available = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if available.is_empty() {
                break;
            }
            begun = true;
            let end = memchr::memchr(b'\n', available);
            self.is_ended = end.is_some();
            let taken = end.map_or(available.len(), |at| at + 1);
            let wanted = end.unwrap_or(available.len());
            let room = self.longest.saturating_sub(self.buffer.len());
            self.buffer.extend_from_slice(&available[..wanted.min(room)]);
            if wanted > room {
                self.cut.get_or_insert(self.number.saturating_add(1));
            }
            self.input.consume(taken);
            self.n_bytes += taken as u64;
            if end.is_some() || self.n_bytes >= self.max_bytes {
                break;
            }
        }
        if begun {
            self.number = self.number.saturating_add(1);
        }
        while self.buffer.last() == Some(&b'\r') {
            self.buffer.pop();
        }
        Ok(begun)
    }
}

/// Lines of libibumad and libibmad on stderr, which `2>&1` mixes in.
pub(crate) fn is_noise(line: &[u8]) -> bool {
    line.starts_with(b"ibwarn: [") || line.starts_with(b"ibdebug: [")
}
