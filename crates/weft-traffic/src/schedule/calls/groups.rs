//! Groups of ranks and the moves of their members in a collective.

use crate::collective::Collective;
use crate::exchange::Exchange;
use crate::renumbering::Renumbering;
use std::collections::HashMap;
use std::rc::Rc;

/// Ranks that carry out collectives together, and what they do, in order, by the first that does.
pub(super) struct Group {
    pub(super) members: Rc<[u32]>,
    pub(super) place_of: HashMap<u32, u32>,
    pub(super) parts: Vec<(GroupPart, u32)>,
}

impl Group {
    pub(super) fn of(members: &[u32]) -> Group {
        let place_of = (0..).zip(members).map(|(place, member)| (*member, place)).collect();
        Group { members: members.into(), place_of, parts: Vec::new() }
    }
}

/// A collective of a group.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct GroupPart {
    pub(super) collective: Collective,
    pub(super) root: u32,
}

/// The moves of a member, by the ranks' own numbers.
pub(super) struct Moves {
    members: Rc<[u32]>,
    turned: Option<Renumbering>,
    collective: Collective,
    number: u32,
    index: u64,
}

impl Moves {
    /// Of the member at `place`.
    pub(super) fn of(group: &Group, part: GroupPart, place: u32) -> Moves {
        let root = (part.root > 0).then_some(part.root);
        let turned = Renumbering::new(group.members.len() as u32, None, root);
        let number = turned.as_ref().map_or(place, |turned| turned.number_of(place));
        let (members, collective) = (Rc::clone(&group.members), part.collective);
        Moves { members, turned, collective, number, index: 0 }
    }
}

impl Iterator for Moves {
    type Item = Exchange;

    fn next(&mut self) -> Option<Exchange> {
        let moved = self.collective.exchange(self.number, self.index)?;
        self.index += 1;
        let moved = match &self.turned {
            None => moved,
            Some(turned) => turned.exchange(moved),
        };
        Some(moved.with_peers(|place| self.members[place as usize]))
    }
}
