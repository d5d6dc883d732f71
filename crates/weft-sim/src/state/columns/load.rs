//! Probes: the load of links over time, in bins whose number is bounded.

use serde::Serialize;
use std::ops::Range;
use weft_fabric::{Fabric, PortId};

/// Bins of all ports together, 8 bytes each.
const MAX_BINS_IN_ALL: usize = 1 << 22;
/// Most bins of a port, and the fewest it gets in a fabric of any size.
const MAX_BINS: usize = 1 << 12;
const MIN_BINS: usize = 1 << 4;

/// Bytes that ports send, by bin of time.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    bin_ps: u64,
    /// Even, so that two bins become one.
    max_bins: usize,
    /// By port; as long as it needs to be.
    bins: Vec<Vec<u64>>,
}

impl Load {
    pub(crate) fn new(n_ports: usize, bin_ps: u64) -> Load {
        let share = (MAX_BINS_IN_ALL / n_ports.max(1)).clamp(MIN_BINS, MAX_BINS);
        let max_bins = 1 << share.ilog2();
        Load { bin_ps, max_bins, bins: vec![Vec::new(); n_ports] }
    }

    /// Add a packet that is on the wire from begin to end, to every bin the bytes that pass in it.
    /// INVARIANT: by any time t the whole bytes of (t - begin) / (end - begin) have passed, so the
    /// bins of a packet sum to its bytes and no bin depends on how fine the others are.
    pub(crate) fn add(&mut self, port: u32, on_wire: Range<u64>, wire_bytes: u16) {
        while (on_wire.end - 1) / self.bin_ps >= self.max_bins as u64 {
            self.coarsen();
        }
        let (bytes, duration_ps) = (u64::from(wire_bytes), on_wire.end - on_wire.start);
        let by = |time_ps: u64| bytes * (time_ps.min(on_wire.end) - on_wire.start) / duration_ps;
        let bins = &mut self.bins[port as usize];
        let last = ((on_wire.end - 1) / self.bin_ps) as usize;
        if bins.len() <= last {
            bins.resize(last + 1, 0);
        }
        let mut passed = 0;
        let first = on_wire.start / self.bin_ps;
        for (bin, bytes) in (first..).zip(&mut bins[first as usize..=last]) {
            let now_passed = by((bin + 1) * self.bin_ps);
            *bytes += now_passed - passed;
            passed = now_passed;
        }
    }

    /// Make every two bins one.
    fn coarsen(&mut self) {
        self.bin_ps *= 2;
        for bins in &mut self.bins {
            for at in 0..bins.len().div_ceil(2) {
                bins[at] = bins[2 * at] + bins.get(2 * at + 1).copied().unwrap_or(0);
            }
            bins.truncate(bins.len().div_ceil(2));
        }
    }
}

/// Load of links over time: one row of bins a port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LoadColumns {
    /// Width of a bin: what was asked for, or twice, four times, ... that where the run was long.
    /// 0 where no probe asks.
    pub bin_ps: u64,
    /// How many bins a port has.
    pub n_bins: u32,
    /// The busiest ports, in the fabric's order.
    pub port_name: Vec<String>,
    /// Bytes sent, headers included: `n_bins` values a port, port after port.
    pub xmit_bytes: Vec<u64>,
    /// How many cabled ports are not among them.
    pub left_out: u64,
}

impl LoadColumns {
    /// The load of the busiest `n_ports` ports.
    pub(crate) fn new(fabric: &Fabric, load: &Load, n_ports: u32) -> LoadColumns {
        let total = |port: u32| load.bins[port as usize].iter().sum();
        let (ports, left_out) = busiest(fabric, n_ports, total);
        let n_bins = ports.iter().map(|port| load.bins[*port as usize].len()).max().unwrap_or(0);
        let mut columns = LoadColumns {
            bin_ps: load.bin_ps,
            n_bins: n_bins as u32,
            left_out,
            ..LoadColumns::default()
        };
        for port in ports {
            let bins = &load.bins[port as usize];
            columns.port_name.push(fabric.port_name(PortId(port)));
            columns.xmit_bytes.extend(bins);
            columns.xmit_bytes.resize(columns.port_name.len() * n_bins, 0);
        }
        columns
    }
}

/// The `n_ports` cabled ports that sent most, in the fabric's order, and how many others there
/// are; of two that sent the same, the first.
pub(crate) fn busiest(
    fabric: &Fabric,
    n_ports: u32,
    sent_bytes: impl Fn(u32) -> u64,
) -> (Vec<u32>, u64) {
    let cabled = |port: &u32| fabric.ports[*port as usize].peer.is_some();
    let mut ports: Vec<u32> = (0..fabric.ports.len() as u32).filter(cabled).collect();
    let left_out = ports.len().saturating_sub(n_ports as usize);
    if left_out > 0 {
        ports.sort_by_key(|port| (u64::MAX - sent_bytes(*port), *port));
        ports.truncate(n_ports as usize);
        ports.sort_unstable();
    }
    (ports, left_out as u64)
}

#[cfg(test)]
mod tests {
    use super::{Load, MAX_BINS};

    #[test]
    fn a_packet_is_spread_over_the_bins_it_is_on_the_wire_in() {
        let mut load = Load::new(1, 100);
        load.add(0, 50..350, 300);
        assert_eq!(load.bins[0], [50, 100, 100, 50]);
        load.add(0, 399..400, 7);
        assert_eq!(load.bins[0], [50, 100, 100, 57]);
    }

    #[test]
    fn bins_widen_where_a_run_is_long_and_lose_no_byte() {
        let mut load = Load::new(2, 1);
        for number in 0..3 * MAX_BINS as u64 {
            load.add(1, 5 * number..5 * number + 3, 100);
        }
        assert_eq!(load.bin_ps, 16, "15 times as long as all bins of 1 ps");
        assert!(load.bins[1].len() <= MAX_BINS && load.bins[0].is_empty());
        assert_eq!(load.bins[1].iter().sum::<u64>(), 300 * MAX_BINS as u64);
    }
}
