//! How an input buffer is read: by one packet at a time, in one queue or by outputs in turn.

use crate::state::buffer::buffers::Buffers;
use crate::state::calendar::{Cold, Kind};
use crate::state::clock::Clock;
use std::collections::VecDeque;

/// The read port of an input buffer, of all its lanes: one packet at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    pub(crate) until_ps: u64,
    /// Egress ports that found it busy: first come, first served.
    pub(crate) outputs: VecDeque<u32>,
    /// The event that serves them is scheduled.
    pub(crate) due: bool,
}

/// One queue for all outputs: read by one packet at a time, until its tail has left.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputFifo {
    pub(crate) packets: VecDeque<u32>,
    pub(crate) read_until_ps: u64,
}

impl<const PLAIN: bool> Buffers<PLAIN> {
    /// Queue a packet in the one queue of its input; whether it may leave now.
    pub(crate) fn is_next(&mut self, clock: &mut Clock, q: u32, id: u32) -> bool {
        let index = self.lane_index(q, self.packets[id].lane());
        let fifo = &mut self.fifos[index];
        fifo.packets.push_back(id);
        if fifo.packets.len() > 1 {
            return false;
        }
        if fifo.read_until_ps > clock.now_ps {
            clock.schedule(fifo.read_until_ps, Kind::Arrive, q, id);
        }
        fifo.read_until_ps <= clock.now_ps
    }

    /// The tail of the first packet of an input's one queue leaves at `left_ps`: the next one may
    /// go then.
    pub(crate) fn read_on(&mut self, clock: &mut Clock, q: u32, vl: u8, left_ps: u64) {
        let index = self.lane_index(q, vl);
        let fifo = &mut self.fifos[index];
        fifo.packets.pop_front();
        fifo.read_until_ps = left_ps;
        if let Some(next) = fifo.packets.front().copied() {
            clock.schedule(left_ps, Kind::Arrive, q, next);
        }
    }

    /// Whether egress `o` may read the buffers of port `q` now; else an event lets it try again.
    pub(crate) fn may_read(&mut self, clock: &mut Clock, q: u32, o: u32) -> bool {
        let Some(reader) = self.readers.get_mut(q as usize) else {
            return true;
        };
        let its_turn = reader.outputs.is_empty() || self.reading == (q, o);
        if reader.until_ps <= clock.now_ps && its_turn {
            return true;
        }
        if !reader.outputs.contains(&o) {
            reader.outputs.push_back(o);
        }
        if !reader.due && self.reading.0 != q {
            reader.due = true;
            clock.schedule_cold(reader.until_ps, Cold::Read(q));
        }
        false
    }
}
