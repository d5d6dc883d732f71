//! Partitions: who may talk to whom.
//!
//! SOURCE: InfiniBand Architecture Specification volume 1, section 10.9 (partitioning); a key's
//! top bit is the membership, not part of the partition's number.

use crate::document::{DEFAULT_PARTITION, PartitionDocument};
use crate::error::SimError;
use crate::limits::N_LEVELS;
use crate::model::placement::place::{RankPlace, node_named};
use std::collections::BTreeMap;
use weft_fabric::Fabric;

/// A partition by node number, and the service level of its messages.
pub(crate) struct Partition {
    members: Vec<bool>,
    pub(crate) service_level: u8,
}

/// Partitions by key.
pub(crate) type Partitions = BTreeMap<u16, Partition>;

pub(crate) fn read(
    fabric: &Fabric,
    documents: &[PartitionDocument],
) -> Result<Partitions, SimError> {
    let mut partitions = Partitions::new();
    for (index, document) in documents.iter().enumerate() {
        let place = format!("partitions[{index}]");
        if !(1..=DEFAULT_PARTITION).contains(&document.key) {
            let what = format!("{:#06x} is no partition's key", document.key);
            let expected = "1 to 0x7fff (32767), without the membership bit";
            return Err(SimError::document(format!("{place}.key"), what, expected));
        }
        let mut members = vec![false; fabric.nodes.len()];
        for (number, name) in document.nodes.iter().enumerate() {
            let place = format!("{place}.nodes[{number}]");
            let node = node_named(fabric, &place, name)?;
            if std::mem::replace(&mut members[node.index()], true) {
                let what = format!("node '{name}' appears twice");
                return Err(SimError::document(place, what, "every node at most once"));
            }
        }
        let service_level = document.service_level;
        require_level(&format!("{place}.service_level"), service_level)?;
        let partition = Partition { members, service_level };
        if partitions.insert(document.key, partition).is_some() {
            let what = format!("there are two partitions {:#06x}", document.key);
            return Err(SimError::document(format!("{place}.key"), what, "keys that differ"));
        }
    }
    let all = || Partition { members: vec![true; fabric.nodes.len()], service_level: 0 };
    partitions.entry(DEFAULT_PARTITION).or_insert_with(all);
    Ok(partitions)
}

/// Refuse what is no service level.
pub(crate) fn require_level(place: &str, level: u8) -> Result<(), SimError> {
    if usize::from(level) >= N_LEVELS {
        let what = format!("{level} is no service level");
        return Err(SimError::document(place, what, "0 to 15"));
    }
    Ok(())
}

/// The tenant's partition; one that has a rank on a node outside it is refused. `place` is the
/// tenant's, with its dot.
pub(crate) fn require<'a>(
    fabric: &Fabric,
    partitions: &'a Partitions,
    place: &str,
    key: u16,
    ranks: &[RankPlace],
) -> Result<&'a Partition, SimError> {
    let Some(partition) = partitions.get(&key) else {
        let known: Vec<String> = partitions.keys().map(|key| format!("{key:#06x}")).collect();
        let what = format!("there is no partition {key:#06x}");
        let expected = format!("one of {}", known.join(", "));
        return Err(SimError::document(format!("{place}partition_key"), what, expected));
    };
    match ranks.iter().find(|rank| !partition.members[rank.node.index()]) {
        None => Ok(partition),
        Some(outside) => {
            let name = &fabric.nodes[outside.node.index()].name;
            let what = format!("node '{name}' is not in partition {key:#06x}");
            let expected = "nodes of the tenant's partition only: others would drop its packets";
            Err(SimError::document(format!("{place}placement"), what, expected))
        }
    }
}
