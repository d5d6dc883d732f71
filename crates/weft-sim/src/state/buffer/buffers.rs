//! Input buffers of all ports: the packets in them, their queues, and credit for them.

use crate::document::Queueing;
use crate::limits::{BLOCK_BYTES, NIL};
use crate::model::rules::Rules;
use crate::model::scenario::ValidScenario;
use crate::state::buffer::credits::LanePool;
use crate::state::buffer::input_queue::{InputFifo, Reader};
use crate::state::copies::Copied;
use crate::state::links::Links;
use crate::state::packet::PacketPool;
use crate::state::pool::Pool;
use crate::state::port::{INSIDE, TO_ENDPOINT};
use weft_fabric::Fabric;

/// Credits of a buffer without limit.
pub(crate) const ENDLESS: i32 = i32::MAX / 2;

/// Buffers, and the packets that are in them or on the wire; `PLAIN` where the rules are
/// [`Rules::PLAIN`].
#[derive(Debug)]
pub(crate) struct Buffers<const PLAIN: bool> {
    rules: Rules,
    /// By port and virtual lane.
    pub(crate) lanes: LanePool,
    pub(crate) n_lanes: usize,
    /// Blocks of an input buffer of a switch, where its link has none of its own.
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
    /// The part of an input buffer that an output may hold.
    pub(crate) share_blocks: u32,
    /// By packet, where shares are counted: the output that holds its blocks.
    pub(crate) counted: Vec<u16>,
    /// Packets that leave a switch by several ports.
    pub(crate) copies: Pool<Copied>,
}

impl<const PLAIN: bool> Buffers<PLAIN> {
    /// The empty buffers of a scenario.
    pub(crate) fn new(scenario: &ValidScenario, links: &Links) -> Buffers<PLAIN> {
        let rules = Rules::new(scenario);
        let (n_ports, n_lanes) = (scenario.fabric.ports.len(), usize::from(scenario.lanes.count));
        let full = (scenario.switch.buffer_bytes / BLOCK_BYTES).min(ENDLESS as u64) as i32;
        let speedup = scenario.switch.speedup_thousandths();
        let mut buffers = Buffers {
            rules,
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
            copies: Pool::default(),
        };
        for o in 0..n_ports as u32 {
            let full = buffers.full_of(&scenario.fabric, o);
            (0..n_lanes).for_each(|_| buffers.lanes.push(full));
        }
        if scenario.switch.model == Queueing::SharedBuffer {
            buffers.count_shares(links);
        }
        buffers
    }

    /// Count what each output holds of every input buffer of a switch.
    fn count_shares(&mut self, links: &Links) {
        for (o, port) in links.ports.iter().enumerate() {
            if port.peer == NIL || port.has(TO_ENDPOINT) {
                continue;
            }
            let peer = &links.ports[port.peer as usize];
            if !peer.has(INSIDE) {
                for lane in o * self.n_lanes..(o + 1) * self.n_lanes {
                    self.lanes.shares.count(lane, peer.n_ports.into());
                }
            }
        }
    }

    /// Blocks of the input buffer that port `o` fills.
    fn full_of(&self, fabric: &Fabric, o: u32) -> i32 {
        let own_bytes = fabric.ports[o as usize].buffer_bytes.filter(|_| self.full != ENDLESS);
        own_bytes.map_or(self.full, |bytes| (bytes / BLOCK_BYTES).min(ENDLESS as u64) as i32)
    }

    #[inline(always)]
    pub(crate) fn rules(&self) -> Rules {
        if PLAIN { Rules::PLAIN } else { self.rules }
    }

    /// The place of a port's lane among all.
    #[inline(always)]
    pub(crate) fn lane_index(&self, port: u32, vl: u8) -> usize {
        if PLAIN { port as usize } else { port as usize * self.n_lanes + usize::from(vl) }
    }

    /// Blocks that wait for lane `vl` of the egress `o`, and those it has spent and not got back.
    #[inline(always)]
    pub(crate) fn load_of(&mut self, o: u32, vl: u8, now_ps: u64) -> u32 {
        let index = self.lane_index(o, vl);
        self.lanes.load_of(index, now_ps)
    }

    /// The output at which a packet counts that is in a switch, whatever the tables say by now.
    #[inline]
    pub(crate) fn counted(&self, id: u32) -> u16 {
        self.counted.get(id as usize).copied().unwrap_or(0)
    }

    /// When the last of the credits in flight will be there; 0 if none are.
    pub(crate) fn refunded_ps(&self) -> u64 {
        let times = (0..self.lanes.len()).filter_map(|index| self.lanes.last_refund_ps(index));
        times.max().unwrap_or(0)
    }

    /// Whether nothing waits and every credit is back, once all that is under way has arrived.
    pub(crate) fn are_whole(&mut self, fabric: &Fabric) -> bool {
        (0..self.lanes.len()).all(|index| {
            let full = self.full_of(fabric, (index / self.n_lanes) as u32);
            self.lanes.is_whole(index, full)
        })
    }
}
