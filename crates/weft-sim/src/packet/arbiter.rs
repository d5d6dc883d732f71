//! The choice of the virtual lane of a port that sends next.
//!
//! SOURCE: InfiniBand Architecture Specification volume 1, section 7.6.9 (VL arbitration): two
//! tables of (lane, weight), each served round robin by weight; the high one first, until it has
//! sent its limit while the low one had something to send.

use crate::document::LaneWeight;
use crate::packet::network::Network;
use crate::state::arbiter::{Served, TableTurn, WEIGHT_BYTES};

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Let the lane of port `o` send whose turn it is.
    pub(crate) fn serve_by_tables(&mut self, o: u32) -> Served {
        let lanes = &self.scenario.lanes;
        let arbiter = self.links.arbiters[o as usize];
        let mut starved = false;
        let low_first = arbiter.limit_bytes <= 0;
        for low in [low_first, !low_first] {
            let (table, turn) =
                if low { (&lanes.low, arbiter.low) } else { (&lanes.high, arbiter.high) };
            let (served, turn) = self.serve_table(o, table, turn);
            starved |= served == Served::Starved;
            if let Served::Sent(bytes) = served {
                let arbiter = &mut self.links.arbiters[o as usize];
                if low {
                    (arbiter.low, arbiter.limit_bytes) = (turn, lanes.high_limit_bytes);
                } else {
                    arbiter.high = turn;
                    arbiter.limit_bytes = arbiter.limit_bytes.saturating_sub(i64::from(bytes));
                    // A limit of nothing is one packet.
                }
                return served;
            }
        }
        if starved { Served::Starved } else { Served::Nothing }
    }

    /// Let the entry of a table send whose turn it is, or one after it.
    fn serve_table(
        &mut self,
        o: u32,
        table: &[LaneWeight],
        mut turn: TableTurn,
    ) -> (Served, TableTurn) {
        let mut starved = false;
        // The entry whose turn it is comes twice: with what it has left, and afresh after all.
        for _ in 0..=table.len() {
            let Some(entry) = table.get(turn.entry) else { break };
            let has_work = self.links.ports[o as usize].work >> entry.vl & 1 != 0;
            if turn.left_bytes > 0 && has_work {
                match self.serve_lane(o, entry.vl) {
                    Served::Sent(bytes) => {
                        turn.left_bytes -= i64::from(bytes);
                        return (Served::Sent(bytes), turn);
                    }
                    Served::Starved => starved = true,
                    Served::Nothing => {}
                }
            }
            turn.entry = if turn.entry + 1 == table.len() { 0 } else { turn.entry + 1 };
            turn.left_bytes = i64::from(table[turn.entry].weight) * WEIGHT_BYTES;
        }
        (if starved { Served::Starved } else { Served::Nothing }, turn)
    }
}
