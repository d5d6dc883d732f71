//! Parallel cables of a tree as groups, each with the routes it carries.

use super::switches::Switches;

/// A cable of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupCable {
    /// Port of the switch that the group leads to.
    pub(super) to_port: u8,
    /// Routes that lead up here, toward the switch that the group belongs to.
    pub(super) n_up: u32,
    /// Routes that lead down here.
    pub(super) n_down: u32,
}

/// All cables from a switch to one other.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) to: u32,
    /// By port.
    pub(super) cables: Vec<GroupCable>,
    pub(super) n_up: u32,
    pub(super) n_down: u32,
}

impl Group {
    /// The cable with the fewest routes up, the first of equals.
    pub(super) fn least_up(&self) -> usize {
        self.least(|cable| cable.n_up)
    }

    /// The cable with the fewest routes down, the first of equals.
    pub(super) fn least_down(&self) -> usize {
        self.least(|cable| cable.n_down)
    }

    fn least(&self, n_routes: impl Fn(&GroupCable) -> u32) -> usize {
        (0..self.cables.len()).min_by_key(|index| n_routes(&self.cables[*index])).unwrap_or(0)
    }
}

/// Groups of a switch by direction, each list in an order of its own that routing changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Directions {
    pub(super) up: Vec<Group>,
    pub(super) down: Vec<Group>,
    /// To switches of the same rank.
    pub(super) level: Vec<Group>,
}

impl Directions {
    /// The groups of a switch, in the order of their first ports.
    pub(super) fn of(switches: &Switches, ranks: &[u32], at: usize) -> Directions {
        let mut directions = Directions::default();
        for link in switches.links_of(at) {
            let groups = match ranks[at].cmp(&ranks[link.to as usize]) {
                std::cmp::Ordering::Greater => &mut directions.up,
                std::cmp::Ordering::Less => &mut directions.down,
                std::cmp::Ordering::Equal => &mut directions.level,
            };
            let cable = GroupCable { to_port: link.to_port, n_up: 0, n_down: 0 };
            match groups.iter_mut().find(|group| group.to == link.to) {
                Some(group) => group.cables.push(cable),
                None => {
                    groups.push(Group { to: link.to, cables: vec![cable], n_up: 0, n_down: 0 });
                }
            }
        }
        directions
    }
}
