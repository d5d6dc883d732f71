//! GUIDs that ibsim gives to nodes whose net names them by words such as 'Switch1'.
//!
//! SOURCE: ibsim 0.10 on its example nets: switches from 0x200000 on, adapters from 0x100000 on,
//! one for the node and one for each of its ports.

use crate::subnet::Kind;
use crate::subnet::records::{Gathered, Who};
use std::collections::HashMap;

const FIRST_SWITCH: u64 = 0x20_0000;
const FIRST_ADAPTER: u64 = 0x10_0000;

/// Provisional GUIDs of nodes until their entries are read, and the final ones.
pub(crate) struct IbsimGuids {
    final_guids: HashMap<u64, u64>,
    next_switch: u64,
    next_adapter: u64,
    /// How many records there were before.
    begin: [usize; 3],
}

impl IbsimGuids {
    /// None so far.
    pub(crate) fn new(gathered: &Gathered) -> IbsimGuids {
        let begin = [gathered.nodes.len(), gathered.ports.len(), gathered.cables.len()];
        IbsimGuids {
            final_guids: HashMap::new(),
            next_switch: FIRST_SWITCH,
            next_adapter: FIRST_ADAPTER,
            begin,
        }
    }

    /// The provisional GUID of a peer.
    pub(crate) fn peer(&self, id: &str) -> u64 {
        guid_of_id(id).unwrap_or_else(|| hash(id))
    }

    /// The provisional GUID of an entry's node: its ID and its GUID may differ.
    pub(crate) fn entry(&mut self, id: &str, guid: Option<u64>, kind: Kind, n_ports: u8) -> u64 {
        let for_now = self.peer(id);
        let wanted = guid.or_else(|| guid_of_id(id));
        let is_known = self.final_guids.contains_key(&for_now);
        if wanted != Some(for_now) && !is_known {
            let last = wanted.unwrap_or_else(|| self.next(kind, n_ports));
            self.final_guids.insert(for_now, last);
        }
        for_now
    }

    fn next(&mut self, kind: Kind, n_ports: u8) -> u64 {
        let (counter, step) = match kind {
            Kind::Switch => (&mut self.next_switch, 1),
            Kind::Ca | Kind::Router => (&mut self.next_adapter, u64::from(n_ports) + 1),
        };
        let guid = *counter;
        *counter += step;
        guid
    }

    /// Replace every provisional GUID by the final one.
    pub(crate) fn settle(&self, gathered: &mut Gathered) {
        if self.final_guids.is_empty() {
            return;
        }
        let last = |guid: &mut u64| {
            if let Some(last) = self.final_guids.get(guid) {
                *guid = *last;
            }
        };
        let name = |who: &mut Who| {
            if let Who::Node(guid) = who {
                last(guid);
            }
        };
        let [nodes, ports, cables] = self.begin;
        for record in &mut gathered.nodes[nodes..] {
            name(&mut record.who);
            record.guid.as_mut().map(last);
        }
        for record in &mut gathered.ports[ports..] {
            name(&mut record.who);
        }
        for record in &mut gathered.cables[cables..] {
            record.ends.iter_mut().for_each(|end| name(&mut end.0));
        }
    }
}

/// `S-506b4b0300000110`.
fn guid_of_id(id: &str) -> Option<u64> {
    let (letter, digits) = id.split_once('-')?;
    let is_one = matches!(letter, "S" | "H" | "R") && digits.len() == 16;
    is_one.then(|| u64::from_str_radix(digits, 16).ok())?
}

/// FNV-1a: the same for the same name in every run.
fn hash(name: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}
