//! Entries of forwarding tables that differ from those of another account of the subnet.

use super::{End, Lfts, Subnet};
use std::collections::HashMap;

/// An entry of a switch: to an end port it led by `before` and leads by `now`; 0 for no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryChange {
    /// Index of the switch.
    pub switch: u32,
    /// The end port that messages go to.
    pub to: End,
    /// The egress port in the other account.
    pub before: u8,
    /// The egress port in this one.
    pub now: u8,
}

/// What comparing two accounts found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryChanges {
    /// Entries that either account has, of switches and end ports that both have. A switch whose
    /// table an account lacks has no entries there.
    pub n_compared: u64,
    /// Of these, the ones that differ.
    pub n_changed: u64,
    /// The first of them, by switch and end port.
    pub first: Vec<EntryChange>,
}

/// Compare tables with those of an account from `before`: switches and end ports by their GUIDs,
/// since a subnet manager may give other LIDs. Of the entries that differ the first `most` are
/// listed.
pub fn entry_changes(now: (&Subnet, &Lfts), before: (&Subnet, &Lfts), most: usize) -> EntryChanges {
    let then: HashMap<u64, u32> =
        before.0.nodes.iter().enumerate().map(|(at, node)| (node.guid, at as u32)).collect();
    let ends: Vec<(End, u16, u16)> = now
        .0
        .endports()
        .filter_map(|end| {
            let node = *then.get(&now.0.nodes[end.node as usize].guid)?;
            let lid = now.0.port(end)?.lid;
            let earlier = before.0.port(End { node, port: end.port })?.lid;
            (lid > 0 && earlier > 0).then_some((end, lid, earlier))
        })
        .collect();
    let mut found = EntryChanges::default();
    for (switch, node) in now.0.nodes.iter().enumerate().filter(|(_, node)| node.is_switch()) {
        let Some(&earlier_switch) = then.get(&node.guid) else { continue };
        let earlier_switch = earlier_switch as usize;
        for &(to, lid, earlier_lid) in &ends {
            let here = now.1.port(switch, lid).unwrap_or(0);
            let earlier = before.1.port(earlier_switch, earlier_lid).unwrap_or(0);
            if here == 0 && earlier == 0 {
                continue;
            }
            found.n_compared += 1;
            if here != earlier {
                found.n_changed += 1;
                if found.first.len() < most {
                    let switch = switch as u32;
                    found.first.push(EntryChange { switch, to, before: earlier, now: here });
                }
            }
        }
    }
    found
}
