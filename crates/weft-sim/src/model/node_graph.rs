//! The inside of nodes: buffers, and what may be broken there.

use crate::document::NodeGraphDocument;
use crate::error::SimError;
use crate::limits::{BLOCK_BYTES, blocks_of};
use crate::model::faults::run_faults::{LinkFault, Planted};
use crate::model::framing::Framing;
use crate::model::placement::place::RankPlace;
use weft_fabric::document::FabricDocument;
use weft_fabric::limits::{MAX_BITS_PER_S, MAX_DELAY_PS};
use weft_fabric::node::check_inside;
use weft_fabric::units::PS_PER_S;
use weft_fabric::{Fabric, FabricError, HcaId, NodeGraph, PortId};

/// Most bytes of an inner link's buffer.
const MAX_BUFFER_BYTES: u64 = 1 << 36;
/// How many packets a buffer holds beyond those that its link carries in a round trip: one that
/// comes, one that leaves, and a stored one on either side of it.
const SPARE_PACKETS: u64 = 4;

/// The graph of a document, its buffers filled in.
pub(crate) fn read(
    document: Option<NodeGraphDocument>,
    fabric: &FabricDocument,
    framing: Framing,
    mtu_bytes: u32,
) -> Result<Option<NodeGraph>, SimError> {
    let Some(mut document) = document else { return Ok(None) };
    let packet_bytes = u64::from(blocks_of(framing.wire_bytes(mtu_bytes, true))) * BLOCK_BYTES;
    let wire_bytes = u64::from(framing.wire_bytes(mtu_bytes, false));
    for (index, link) in document.links.iter_mut().enumerate() {
        let (rate, delay) =
            (link.bits_per_s.0.min(MAX_BITS_PER_S), link.delay_ps.0.min(MAX_DELAY_PS));
        let bits = u128::from(rate) * 2 * u128::from(delay);
        let flying = bits.div_ceil(8 * u128::from(PS_PER_S)).min(u128::from(MAX_BUFFER_BYTES));
        // Data in flight take whole credits.
        let n_packets = (flying as u64).div_ceil(wire_bytes) + SPARE_PACKETS;
        let enough = n_packets.saturating_mul(packet_bytes);
        let bytes = *link.buffer_bytes.get_or_insert(enough.min(MAX_BUFFER_BYTES));
        if !(packet_bytes..=MAX_BUFFER_BYTES).contains(&bytes) {
            let place = format!("node.links[{index}].buffer_bytes");
            let expected = format!("from {packet_bytes} (a whole packet) to {MAX_BUFFER_BYTES}");
            return Err(SimError::document(place, format!("{bytes} bytes"), expected));
        }
    }
    let n_hcas = fabric.nodes.first().map_or(0, |node| node.hcas.len()) as u32;
    Ok(Some(NodeGraph::new(&document, n_hcas)?))
}

/// Paths inside a node are fixed, and packets lost on them are not sent again: their links may only
/// be slow.
pub(crate) fn require_whole(fabric: &Fabric, faults: &Planted) -> Result<(), SimError> {
    let refuse = |port: PortId, what: &str| {
        let what = format!("'{}' is inside a node and {what}", fabric.port_name(port));
        let expected = "a rate, a width or corrected errors for links inside nodes";
        Err(SimError::document("faults", what, expected))
    };
    let ports = (0..fabric.ports.len() as u32).map(PortId);
    for (port, peer) in ports.filter_map(|port| Some((port, fabric.inner_peer(port)?))) {
        if fabric.ports[port.index()].peer != Some(peer) {
            return refuse(port, "plugged in elsewhere");
        }
        if !fabric.ports[port.index()].up {
            return refuse(port, "down");
        }
    }
    for trouble in &faults.troubles {
        let inner = trouble.ends.iter().find(|port| fabric.inner_peer(**port).is_some());
        match (inner, trouble.kind) {
            (Some(port), LinkFault::Down) => return refuse(*port, "down for a time"),
            (Some(port), LinkFault::Lost(_)) => return refuse(*port, "loses packets"),
            _ => {}
        }
    }
    Ok(())
}

/// Packets between this many tasks of a node cannot wait in a circle.
pub(crate) fn check(fabric: &Fabric, ranks: &[RankPlace]) -> Result<(), FabricError> {
    let n_tasks = ranks.iter().map(|rank| rank.task + 1).max().unwrap_or(0);
    fabric.inside.as_ref().map_or(Ok(()), |graph| check_inside(graph, n_tasks))
}

/// The HCAs messages cross: those of the ranks, and of the same rails at every other node.
pub(crate) fn hcas_in_use(fabric: &Fabric, ranks: &[RankPlace]) -> Vec<HcaId> {
    let first = |rank: &RankPlace| fabric.nodes[rank.node.index()].first_hca.0;
    let mut hcas: Vec<HcaId> = ranks.iter().map(|rank| rank.hca).collect();
    if fabric.inside.is_some() {
        let mut rails: Vec<u32> = ranks.iter().map(|rank| rank.hca.0 - first(rank)).collect();
        rails.sort_unstable();
        rails.dedup();
        let of_rank = |rank: &RankPlace| first(rank);
        let mut firsts: Vec<u32> = ranks.iter().map(of_rank).collect();
        firsts.dedup();
        hcas = firsts.iter().flat_map(|hca| rails.iter().map(move |r| HcaId(hca + r))).collect();
    }
    hcas.sort_unstable();
    hcas.dedup();
    hcas
}
