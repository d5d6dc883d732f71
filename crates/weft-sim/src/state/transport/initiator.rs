//! Dynamically connected transport (DCT): the initiators of a rank, each connected to one target at
//! a time.
//!
//! An initiator sends its messages in the order in which they were given to it. The next message of
//! the same target follows at once; one to another target waits until all before it are
//! acknowledged, and then for the connection. Messages of a pair never pass one another: while one
//! is not acknowledged, the next goes to the same initiator.

use crate::limits::NIL;
use crate::model::scenario::ValidScenario;
use crate::state::id_map::IdMap;
use crate::state::transport::message::Message;
use crate::state::transport::sender::key_of_pair;
use std::collections::VecDeque;

/// In an acknowledgement, above the rank: the rank's send is complete.
pub(crate) const COMPLETES: u32 = 1 << 31;

/// An acknowledgement's first bit for the initiator, above 22 for the rank.
pub(crate) const INITIATOR_BIT: u32 = 22;

/// In an acknowledgement: a whole message has come.
pub(crate) const WHOLE: u32 = 1 << 30;

/// The rank that an acknowledgement names.
pub(crate) fn rank_of(word: u32) -> u32 {
    word & ((1 << INITIATOR_BIT) - 1)
}

/// How an acknowledgement names an initiator.
pub(crate) fn named(initiator: u32) -> u32 {
    initiator << INITIATOR_BIT
}

/// One connection at a time.
#[derive(Clone, Debug)]
struct Initiator {
    /// The destination of the last message given to it; NIL before the first.
    last: u32,
    /// Whom it is connected to; NIL before its first message, whose target it finds connected.
    target: u32,
    /// Destinations of messages given to it and not acknowledged, in order.
    destinations: VecDeque<u32>,
    /// Messages let go and not acknowledged.
    unanswered: u32,
    /// A message for another target, which waits until those are acknowledged.
    held: u32,
}

const UNUSED: Initiator =
    Initiator { last: NIL, target: NIL, destinations: VecDeque::new(), unanswered: 0, held: NIL };

/// The initiators of all ranks.
#[derive(Debug, Default)]
pub(crate) struct Initiators {
    n_each: usize,
    n_lanes: usize,
    reconnect_ps: u64,
    /// By rank, lane and number.
    list: Vec<Initiator>,
    /// By rank and lane, the one whose turn it is among equals.
    turns: Vec<u32>,
    /// By pair and lane: the initiator that has messages not acknowledged, and how many.
    pairs: IdMap<u64, (u32, u32)>,
    /// How often one turned to another target.
    pub(crate) n_reconnects: u64,
}

/// When a message may leave.
pub(crate) enum InitiatorTurn {
    /// When it is ready.
    Now,
    /// Not before.
    At(u64),
    /// When others are acknowledged.
    Later,
}

impl Initiators {
    /// Those of a scenario; none where connections do not change.
    pub(crate) fn of_scenario(scenario: &ValidScenario) -> Initiators {
        let Some(dct) = scenario.transport.dct else { return Initiators::default() };
        let n_lanes = usize::from(scenario.lanes.count);
        Initiators::new(scenario.ranks.len(), n_lanes, dct.initiators, dct.reconnect_ps)
    }

    /// So many for each lane of each rank.
    fn new(n_ranks: usize, n_lanes: usize, n_each: u32, reconnect_ps: u64) -> Initiators {
        let n_each = n_each as usize;
        Initiators {
            n_each,
            n_lanes,
            reconnect_ps,
            list: vec![UNUSED; n_ranks * n_lanes * n_each],
            turns: vec![0; n_ranks * n_lanes],
            ..Initiators::default()
        }
    }

    /// Whether connections do not change.
    pub(crate) fn are_none(&self) -> bool {
        self.list.is_empty()
    }

    fn group(&self, src: u32, lane: u8) -> usize {
        src as usize * self.n_lanes + usize::from(lane)
    }

    fn of(&mut self, src: u32, lane: u8, number: u32) -> &mut Initiator {
        let first = self.group(src, lane) * self.n_each;
        &mut self.list[first + number as usize]
    }

    /// Give a message to an initiator: that of the pair's messages before it; one whose last
    /// message has the same target; of those with the fewest messages the next in turn, those never
    /// used first.
    pub(crate) fn give(&mut self, src: u32, dst: u32, lane: u8) -> u32 {
        let chosen = match self.pairs.get(&key_of_pair(src, dst, lane)) {
            Some((number, _)) => *number,
            None => self.choose(src, dst, lane),
        };
        self.pairs.entry(key_of_pair(src, dst, lane)).or_insert((chosen, 0)).1 += 1;
        let initiator = self.of(src, lane, chosen);
        initiator.last = dst;
        initiator.destinations.push_back(dst);
        chosen
    }

    fn choose(&mut self, src: u32, dst: u32, lane: u8) -> u32 {
        let group = self.group(src, lane);
        let own = &self.list[group * self.n_each..][..self.n_each];
        if let Some(number) = own.iter().position(|initiator| initiator.last == dst) {
            return number as u32;
        }
        let turn = self.turns[group] as usize;
        let cost = |number: &usize| {
            let initiator = &own[*number];
            (initiator.destinations.len(), initiator.last != NIL)
        };
        let in_turn = (0..self.n_each).map(|k| (turn + k) % self.n_each);
        let number = in_turn.min_by_key(cost).expect("there is one") as u32;
        self.turns[group] = (number + 1) % self.n_each as u32;
        number
    }

    /// The next message of an initiator wants to leave.
    pub(crate) fn turn(&mut self, id: u32, message: &Message, now_ps: u64) -> InitiatorTurn {
        let reconnect_ps = self.reconnect_ps;
        let initiator = self.of(message.src, message.lane, message.queue);
        if initiator.target != NIL && initiator.target != message.dst {
            if initiator.unanswered > 0 {
                initiator.held = id;
                return InitiatorTurn::Later;
            }
            (initiator.target, initiator.unanswered) = (message.dst, 1);
            self.n_reconnects += 1;
            return InitiatorTurn::At(now_ps + reconnect_ps);
        }
        initiator.target = message.dst;
        initiator.unanswered += 1;
        InitiatorTurn::Now
    }

    /// A whole message of an initiator is acknowledged: the message that waited for it.
    pub(crate) fn answered(&mut self, src: u32, lane: u8, number: u32) -> Option<u32> {
        let initiator = self.of(src, lane, number);
        let dst = initiator.destinations.pop_front().expect("only what was sent is acknowledged");
        initiator.unanswered -= 1;
        let free = initiator.unanswered == 0;
        let held = if free { std::mem::replace(&mut initiator.held, NIL) } else { NIL };
        let key = key_of_pair(src, dst, lane);
        let (_, count) = self.pairs.get_mut(&key).expect("it was given");
        *count -= 1;
        if *count == 0 {
            self.pairs.remove(&key);
        }
        (held != NIL).then_some(held)
    }
}

#[cfg(test)]
mod tests {
    use super::{InitiatorTurn, Initiators};
    use crate::state::transport::message::{Message, Role};

    fn give(initiators: &mut Initiators, dst: u32) -> Message {
        let mut message = Message::new(0, dst, dst, 1, Role::Eager);
        message.queue = initiators.give(0, dst, 0);
        message
    }

    #[test]
    fn messages_of_a_pair_stay_on_one_initiator_until_they_are_acknowledged() {
        let mut initiators = Initiators::new(1, 1, 2, 5);
        let queues: Vec<u32> =
            [7, 8, 9, 7, 9, 8].map(|dst| give(&mut initiators, dst).queue).to_vec();
        assert_eq!(queues, [0, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn another_target_waits_for_the_last_ones_acknowledgements_and_the_connection() {
        let mut initiators = Initiators::new(1, 1, 1, 5);
        let [a, b, c] = [7, 7, 8].map(|dst| give(&mut initiators, dst));
        assert!(matches!(initiators.turn(0, &a, 100), InitiatorTurn::Now));
        assert!(matches!(initiators.turn(1, &b, 100), InitiatorTurn::Now));
        assert!(matches!(initiators.turn(2, &c, 100), InitiatorTurn::Later));
        assert_eq!(initiators.answered(0, 0, 0), None, "one is in flight");
        assert_eq!(initiators.answered(0, 0, 0), Some(2));
        assert!(matches!(initiators.turn(2, &c, 200), InitiatorTurn::At(205)));
        assert_eq!(initiators.n_reconnects, 1);
        assert_eq!(initiators.pairs.len(), 1, "what is acknowledged is forgotten");
    }
}
