//! The columns of ports at the end of a run, in the units of InfiniBand counters.

use crate::document::Headers;
use crate::limits::NIL;
use crate::model::scenario::ValidScenario;
use crate::state::columns::load::busiest;
use crate::state::columns::ports::PortColumns;
use crate::state::links::Links;
use crate::state::transport::spacing::PortCongestion;
use weft_fabric::{BitsPerSecond, PortId};

/// The variant CRC at the end of a packet, which `PortXmitData` leaves out.
const VCRC_BYTES: u64 = 2;
/// The unit of data, and what the tick of `port_xmit_wait` is the time of.
const WORD_BYTES: u64 = 4;

/// The counters of all cabled ports or the busiest, and how many ports are left out.
pub(crate) fn port_columns(
    scenario: &ValidScenario,
    links: &Links,
    congestion: &[PortCongestion],
) -> (PortColumns, u64) {
    let sent_bytes = |port: u32| links.counters(port).xmit_bytes;
    let (ports, left_out) = busiest(&scenario.fabric, scenario.probes.top_ports, sent_bytes);
    let mut columns = PortColumns::default();
    for port in ports {
        let counts = congestion.get(port as usize).copied().unwrap_or_default();
        push(&mut columns, scenario, links, counts, port);
    }
    (columns, left_out)
}

fn push(
    columns: &mut PortColumns,
    scenario: &ValidScenario,
    links: &Links,
    counts: PortCongestion,
    port: u32,
) {
    let fabric = &scenario.fabric;
    let (own, errors) = (links.counters(port), links.troubles.errors(port));
    let peer = links.ports[port as usize].peer;
    assert!(peer != NIL, "only cabled ports have a row");
    let (far, far_errors) = (links.counters(peer), links.troubles.errors(peer));
    let came = far.xmit_packets - far_errors.lost_packets;
    let words = |bytes, packets| words_of(scenario.headers, bytes, packets);
    columns.port_name.push(fabric.port_name(PortId(port)));
    columns.xmit_bytes.push(own.xmit_bytes);
    columns.xmit_packets.push(own.xmit_packets);
    columns.xmit_wait_ps.push(own.xmit_wait_ps);
    columns.port_xmit_data.push(words(own.xmit_bytes, own.xmit_packets));
    columns.port_rcv_data.push(words(far.xmit_bytes - far_errors.lost_bytes, came));
    columns.port_xmit_pkts.push(own.xmit_packets);
    columns.port_rcv_pkts.push(came);
    columns.port_xmit_wait.push(ticks(own.xmit_wait_ps, fabric.ports[port as usize].rate));
    columns.port_xmit_discards.push(errors.discards);
    columns.symbol_error_counter.push(far_errors.corrected);
    columns.link_error_recovery_counter.push(errors.recoveries);
    columns.link_downed_counter.push(errors.downs);
    columns.port_rcv_errors.push(far_errors.lost_packets);
    columns.port_xmit_fecn.push(counts.marked);
    columns.port_rcv_fecn.push(counts.rcv_fecn);
    columns.port_rcv_becn.push(counts.rcv_becn);
}

/// Whole four-byte words of packets: what does not fill one is rounded up once for all.
fn words_of(headers: Headers, bytes: u64, packets: u64) -> u64 {
    let crc_bytes = if headers == Headers::Infiniband { packets * VCRC_BYTES } else { 0 };
    (bytes - crc_bytes).div_ceil(WORD_BYTES)
}

fn ticks(wait_ps: u64, rate: BitsPerSecond) -> u64 {
    let bits = u128::from(wait_ps) * u128::from(rate.0) / 1_000_000_000_000;
    (bits / u128::from(8 * WORD_BYTES)) as u64
}
