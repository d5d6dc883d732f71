//! Counters of ports, under InfiniBand's names and in its units.
//!
//! SOURCE: InfiniBand Architecture Specification volume 1, section 16.1.3.5 (PortCounters): data in
//! units of four octets, between the delimiters and without the VCRC, link packets not counted.

use serde::Serialize;

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
    /// Packets that were lost on the wire to this port.
    pub port_rcv_errors: Vec<u64>,
    /// Packets that this port of a switch marked where it was congested (FECN).
    pub port_xmit_fecn: Vec<u64>,
    /// Packets that came marked to this port of a host.
    pub port_rcv_fecn: Vec<u64>,
    /// Notifications (BECN) that came to this port of a host.
    pub port_rcv_becn: Vec<u64>,
}
