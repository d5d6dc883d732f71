//! Input buffers of all ports: the packets in them, their queues, and credit for them.

use crate::limits::{BLOCK_BYTES, NIL};
use crate::model::rules::Rules;
use crate::model::scenario::ValidScenario;
use crate::state::buffer::credits::LanePool;
use crate::state::buffer::input_queue::{InputFifo, Reader};
use crate::state::copies::Copies;
use crate::state::packet::PacketPool;

/// Credits of a buffer without limit.
pub(crate) const ENDLESS: i32 = i32::MAX / 2;

/// Buffers, and the packets that are in them or on the wire.
#[derive(Debug)]
pub(crate) struct Buffers {
    /// By port and virtual lane.
    pub(crate) lanes: LanePool,
    pub(crate) n_lanes: usize,
    /// Blocks of an input buffer of a switch.
    pub(crate) full: i32,
    pub(crate) packets: PacketPool,
    /// The last packet of each queue that is in use, from `Lane::queues` on by input.
    pub(crate) tails: Vec<u32>,
    /// By port and virtual lane, for `input_fifo`.
    pub(crate) fifos: Vec<InputFifo>,
    /// By port, where reading a buffer takes time.
    pub(crate) readers: Vec<Reader>,
    /// Speed-up of the crossbar in thousandths.
    pub(crate) speedup: u64,
    /// The buffer that has just been read, and the egress whose turn it is there.
    pub(crate) reading: (u32, u32),
    /// What an output may hold of an input buffer.
    pub(crate) share_blocks: u32,
    /// By packet, where shares are counted: the output that holds its blocks.
    pub(crate) counted: Vec<u16>,
    /// Packets that leave a switch by several ports.
    pub(crate) copies: Copies,
}

impl Buffers {
    /// Buffers without lanes, for a scenario's switches.
    pub(crate) fn new(scenario: &ValidScenario, rules: Rules) -> Buffers {
        let (n_ports, n_lanes) = (scenario.fabric.ports.len(), usize::from(scenario.lanes.count));
        let full = (scenario.switch.buffer_bytes / BLOCK_BYTES).min(ENDLESS as u64) as i32;
        let speedup = scenario.switch.speedup_thousandths();
        Buffers {
            lanes: LanePool::with_capacity(n_ports * n_lanes),
            n_lanes,
            full: if rules.endless { ENDLESS } else { full },
            packets: PacketPool::default(),
            tails: Vec::new(),
            fifos: vec![InputFifo::default(); if rules.fifo { n_ports * n_lanes } else { 0 }],
            readers: vec![Reader::default(); if speedup.is_some() { n_ports } else { 0 }],
            speedup: speedup.unwrap_or(0),
            reading: (NIL, NIL),
            share_blocks: scenario.switch.share_blocks(),
            counted: Vec::new(),
            copies: Copies::default(),
        }
    }
}
