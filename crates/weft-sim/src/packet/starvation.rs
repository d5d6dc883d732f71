//! Who waits for credit, and for whom.

use crate::limits::NIL;
use crate::packet::network::Network;
use crate::state::packet::BORN;
use crate::state::port::ENDPOINT;

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// The packets waiting at lane `vl` of port `o`, by the input buffer they hold: port and lane.
    pub(crate) fn inputs_waiting_for(
        &self,
        o: u32,
        vl: u8,
    ) -> impl Iterator<Item = (u32, u8)> + '_ {
        let port = &self.links.ports[o as usize];
        let forwards = !port.has(ENDPOINT);
        let last = self.buffers.lanes[self.lane_index(o, vl)].ring;
        let first = (forwards && last != NIL).then(|| self.buffers.packets[last].ring());
        let after = move |id: &u32| (*id != last).then(|| self.buffers.packets[*id].ring());
        let ids = std::iter::successors(first, after);
        // What a switch has made itself holds no buffer.
        let packets =
            ids.map(move |id| &self.buffers.packets[id]).filter(|packet| !packet.has(BORN));
        packets.map(move |packet| (o - u32::from(port.local) + packet.input(), packet.input_lane()))
    }

    /// The starved lanes, each with the input buffer that is full.
    pub(crate) fn starved(&self) -> impl Iterator<Item = (u32, u8, u32)> + '_ {
        let numbered =
            self.buffers.lanes.iter().enumerate().filter(|(index, lane)| {
                lane.need > 0 || self.buffers.lanes.shares.is_short(*index)
            });
        numbered.map(|(index, _)| {
            let (port, vl) = (index / self.buffers.n_lanes, index % self.buffers.n_lanes);
            (port as u32, vl as u8, self.links.ports[port].peer)
        })
    }
}
