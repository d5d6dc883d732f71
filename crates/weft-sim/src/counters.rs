//! Counters of ports, under InfiniBand's names and in its units.
//!
//! SOURCE: InfiniBand Architecture Specification volume 1, section 16.1.3.5 (PortCounters): data in
//! units of four octets, between the delimiters and without the VCRC, link packets not counted.

use crate::document::Headers;
use crate::network::Network;
use crate::packet::NIL;
use crate::probe::busiest;
use serde::Serialize;
use weft_fabric::{BitsPerSecond, PortId};

/// The variant CRC at the end of a packet, which `PortXmitData` leaves out.
const VCRC_BYTES: u64 = 2;
/// The unit of data, and what the tick of `port_xmit_wait` is the time of.
const WORD_BYTES: u64 = 4;

/// One row a cabled port; the busiest where there are more than `probes.top_ports`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PortColumns {
    /// `vertex[number]`.
    pub port_name: Vec<String>,
    /// Bytes sent, headers included.
    pub xmit_bytes: Vec<u64>,
    /// Packets sent.
    pub xmit_packets: Vec<u64>,
    /// Time with something to send, a free link and no credit.
    pub xmit_wait_ps: Vec<u64>,
    /// Four-byte words sent, without the VCRC.
    pub port_xmit_data: Vec<u64>,
    /// Four-byte words that came, those of lost packets not counted.
    pub port_rcv_data: Vec<u64>,
    /// Packets sent.
    pub port_xmit_pkts: Vec<u64>,
    /// Packets that came.
    pub port_rcv_pkts: Vec<u64>,
    /// `xmit_wait_ps` in ticks: the specification leaves the tick to the device, and here it is
    /// the time of a four-byte word at the rate the run begins with.
    pub port_xmit_wait: Vec<u64>,
    /// Packets that this port could not send because its cable was down.
    pub port_xmit_discards: Vec<u64>,
    /// Packets that came with an error the link corrected.
    pub symbol_error_counter: Vec<u64>,
    /// How often the link went on at another rate.
    pub link_error_recovery_counter: Vec<u64>,
    /// How often the link went down during the run.
    pub link_downed_counter: Vec<u64>,
    /// Packets that were lost on the way to this port.
    pub port_rcv_errors: Vec<u64>,
    /// Packets that this port of a switch marked where it was congested (FECN).
    pub port_xmit_fecn: Vec<u64>,
    /// Packets that came marked to this port of a host.
    pub port_rcv_fecn: Vec<u64>,
    /// Notifications (BECN) that came to this port of a host.
    pub port_rcv_becn: Vec<u64>,
}

impl PortColumns {
    /// The counters of all cabled ports or the busiest, and how many ports are left out.
    pub(crate) fn new<const PLAIN: bool>(network: &Network<'_, PLAIN>) -> (PortColumns, u64) {
        let scenario = network.scenario;
        let sent_bytes = |port: u32| network.counters(port).xmit_bytes;
        let (ports, left_out) = busiest(&scenario.fabric, scenario.probes.top_ports, sent_bytes);
        let mut columns = PortColumns::default();
        for port in ports {
            columns.push(network, port);
        }
        (columns, left_out)
    }

    fn push<const PLAIN: bool>(&mut self, network: &Network<'_, PLAIN>, port: u32) {
        let fabric = network.fabric();
        let (own, errors) = (network.counters(port), network.troubles.errors(port));
        let peer = network.ports[port as usize].peer;
        assert!(peer != NIL, "only cabled ports have a row");
        let (far, far_errors) = (network.counters(peer), network.troubles.errors(peer));
        let came = far.xmit_packets - far_errors.lost_packets;
        let words = |bytes, packets| words_of(network.scenario.headers, bytes, packets);
        self.port_name.push(fabric.port_name(PortId(port)));
        self.xmit_bytes.push(own.xmit_bytes);
        self.xmit_packets.push(own.xmit_packets);
        self.xmit_wait_ps.push(own.xmit_wait_ps);
        self.port_xmit_data.push(words(own.xmit_bytes, own.xmit_packets));
        self.port_rcv_data.push(words(far.xmit_bytes - far_errors.lost_bytes, came));
        self.port_xmit_pkts.push(own.xmit_packets);
        self.port_rcv_pkts.push(came);
        self.port_xmit_wait.push(ticks(own.xmit_wait_ps, fabric.ports[port as usize].rate));
        self.port_xmit_discards.push(errors.discards);
        self.symbol_error_counter.push(far_errors.corrected);
        self.link_error_recovery_counter.push(errors.recoveries);
        self.link_downed_counter.push(errors.downs);
        self.port_rcv_errors.push(far_errors.lost_packets);
        let congestion = network.told.get(port as usize).copied().unwrap_or_default();
        self.port_xmit_fecn.push(congestion.marked);
        self.port_rcv_fecn.push(congestion.rcv_fecn);
        self.port_rcv_becn.push(congestion.rcv_becn);
    }
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
