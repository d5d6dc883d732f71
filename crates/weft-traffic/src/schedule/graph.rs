//! Graphs of operations, laid out level by level.

use crate::error::TrafficError;
use crate::exchange::{Blocks, Exchange, Transfer, Wait};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Most operations of a schedule, all ranks together.
pub(super) const MAX_OPERATIONS: usize = 4_000_000;

/// The work of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Compute { ps: u64 },
    Send(ScheduledMessage),
    Recv(ScheduledMessage),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScheduledMessage {
    pub(super) peer: u32,
    pub(super) size_bytes: u64,
    pub(super) tag: u32,
}

/// An operation, and the operations of its rank that must be over (`after`) or begun (`with`)
/// before it begins, by number.
#[derive(Clone, Debug)]
pub(super) struct ScheduledOperation {
    pub(super) work: Work,
    pub(super) line: u32,
    pub(super) after: Vec<u32>,
    pub(super) with: Vec<u32>,
}

impl ScheduledOperation {
    pub(super) fn new(work: Work, line: u32) -> ScheduledOperation {
        ScheduledOperation { work, line, after: Vec::new(), with: Vec::new() }
    }
}

/// Source, destination and tag: sends and receives of one such key meet in order.
type Key = (u32, u32, u32);

/// Where the laying out stands. Operations have numbers over all ranks.
struct Layout<'a> {
    place: &'a str,
    operations: Vec<&'a ScheduledOperation>,
    rank_of: Vec<u32>,
    /// By operation: how many others it waits for still, and who waits for it.
    unmet: Vec<u32>,
    done_lets: Vec<Vec<u32>>,
    begun_lets: Vec<Vec<u32>>,
    /// Ready and not met by a partner: numbers of sends, and of receives.
    open: BTreeMap<Key, [VecDeque<u32>; 2]>,
    n_done: usize,
    moves: Vec<Vec<Exchange>>,
}

/// The moves of each rank: a level's messages in one global order, then its computing, then a wait.
pub(super) fn lay_out(
    place: &str,
    ranks: &[Vec<ScheduledOperation>],
) -> Result<Vec<Vec<Exchange>>, TrafficError> {
    let mut layout = Layout::new(place, ranks);
    let all = 0..layout.operations.len() as u32;
    let mut ready: Vec<u32> = all.filter(|number| layout.unmet[*number as usize] == 0).collect();
    while !ready.is_empty() {
        ready = layout.level(ready)?;
    }
    match layout.n_done == layout.operations.len() {
        true => Ok(layout.moves),
        false => Err(layout.stuck()),
    }
}

impl<'a> Layout<'a> {
    fn new(place: &'a str, ranks: &'a [Vec<ScheduledOperation>]) -> Layout<'a> {
        let operations: Vec<&ScheduledOperation> = ranks.iter().flatten().collect();
        let n = operations.len();
        let (mut rank_of, mut unmet) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let (mut done_lets, mut begun_lets) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        let mut base = 0;
        for (rank, own) in ranks.iter().enumerate() {
            for operation in own {
                let number = rank_of.len() as u32;
                rank_of.push(rank as u32);
                unmet.push((operation.after.len() + operation.with.len()) as u32);
                for other in &operation.after {
                    done_lets[(base + other) as usize].push(number);
                }
                for other in &operation.with {
                    begun_lets[(base + other) as usize].push(number);
                }
            }
            base += own.len() as u32;
        }
        let moves = vec![Vec::new(); ranks.len()];
        let open = BTreeMap::new();
        Layout { place, operations, rank_of, unmet, done_lets, begun_lets, open, n_done: 0, moves }
    }

    /// One level; what is ready for the next one.
    fn level(&mut self, ready: Vec<u32>) -> Result<Vec<u32>, TrafficError> {
        let (mut computes, mut touched) = (VecDeque::new(), BTreeSet::new());
        let mut queue = VecDeque::from(ready);
        while let Some(number) = queue.pop_front() {
            match self.key_of(number) {
                None => computes.push_back(number),
                Some((key, side)) => {
                    self.open.entry(key).or_default()[side].push_back(number);
                    touched.insert(key);
                }
            }
            let lets = std::mem::take(&mut self.begun_lets[number as usize]);
            queue.extend(lets.into_iter().filter(|other| self.met(*other)));
        }
        let mut next = Vec::new();
        let mut busy = BTreeSet::new();
        for (send, recv) in self.meet(&touched)? {
            for number in [send, recv] {
                busy.insert(self.post(number));
                self.finish(number, &mut next);
            }
        }
        while let Some(number) = computes.pop_front() {
            self.post(number);
            let mut then = Vec::new();
            self.finish(number, &mut then);
            for other in then {
                // Computing needs no wait: more of it follows in the same level.
                match (self.key_of(other), self.begun_lets[other as usize].is_empty()) {
                    (None, true) => computes.push_back(other),
                    _ => next.push(other),
                }
            }
        }
        for rank in busy {
            self.moves[rank as usize].last_mut().expect("it has just posted").wait = Wait::All;
        }
        Ok(next)
    }

    /// One condition of an operation is met; whether it was the last.
    fn met(&mut self, number: u32) -> bool {
        self.unmet[number as usize] -= 1;
        self.unmet[number as usize] == 0
    }

    fn finish(&mut self, number: u32, ready: &mut Vec<u32>) {
        self.n_done += 1;
        let lets = std::mem::take(&mut self.done_lets[number as usize]);
        ready.extend(lets.into_iter().filter(|other| self.met(*other)));
    }

    fn key_of(&self, number: u32) -> Option<(Key, usize)> {
        let rank = self.rank_of[number as usize];
        match self.operations[number as usize].work {
            Work::Compute { .. } => None,
            Work::Send(message) => Some(((rank, message.peer, message.tag), 0)),
            Work::Recv(message) => Some(((message.peer, rank, message.tag), 1)),
        }
    }

    /// Sends and receives that meet now.
    fn meet(&mut self, touched: &BTreeSet<Key>) -> Result<Vec<(u32, u32)>, TrafficError> {
        let mut met = Vec::new();
        for key in touched {
            let [sends, recvs] = self.open.get_mut(key).expect("just touched");
            while !sends.is_empty() && !recvs.is_empty() {
                let pair = (sends.pop_front().expect("some"), recvs.pop_front().expect("some"));
                met.push(pair);
            }
        }
        for (send, recv) in &met {
            let (send, recv) = (self.operations[*send as usize], self.operations[*recv as usize]);
            if let (Work::Send(sent), Work::Recv(wanted)) = (send.work, recv.work)
                && sent.size_bytes != wanted.size_bytes
            {
                let what = format!(
                    "a receive of {} bytes meets the send of {} bytes in line {}",
                    wanted.size_bytes, sent.size_bytes, send.line
                );
                return Err(wrong(
                    self.place,
                    recv.line,
                    what,
                    "messages of one size at both ends",
                ));
            }
        }
        Ok(met)
    }

    /// Append an operation to its rank's moves; the rank.
    fn post(&mut self, number: u32) -> u32 {
        let rank = self.rank_of[number as usize];
        let transfer = |message: ScheduledMessage| Transfer {
            peer: message.peer,
            size_bytes: message.size_bytes,
            blocks: Blocks::None,
        };
        let moved = match self.operations[number as usize].work {
            Work::Compute { ps } => Exchange { compute_ps: ps, ..Exchange::default() },
            Work::Send(message) => Exchange::send(transfer(message)).without_wait(),
            Work::Recv(message) => Exchange::recv(transfer(message)).without_wait(),
        };
        self.moves[rank as usize].push(moved);
        rank
    }

    /// Why not all operations were reached.
    fn stuck(&self) -> TrafficError {
        let open = self.open.values().flatten().flatten().min();
        let Some(number) = open else {
            let at = self.unmet.iter().position(|unmet| *unmet > 0).expect("some are not done");
            let line = self.operations[at].line;
            let what = "an operation that never begins";
            return wrong(self.place, line, what, "dependencies without a circle");
        };
        let operation = self.operations[*number as usize];
        let what = match operation.work {
            Work::Send(to) => format!(
                "no rank receives the {} bytes to rank {} with tag {}",
                to.size_bytes, to.peer, to.tag
            ),
            Work::Recv(from) => format!(
                "no rank sends the {} bytes from rank {} with tag {}",
                from.size_bytes, from.peer, from.tag
            ),
            Work::Compute { .. } => unreachable!("computing needs no partner"),
        };
        let expected = "a send and a receive for each message, neither waiting for the other";
        wrong(self.place, operation.line, what, expected)
    }
}

/// An error in a line of a schedule.
pub(super) fn wrong(
    place: &str,
    line: u32,
    what: impl Into<String>,
    expected: impl Into<String>,
) -> TrafficError {
    TrafficError::document(format!("{place}, line {line}"), what, expected)
}
