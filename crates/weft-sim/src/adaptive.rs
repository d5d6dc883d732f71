//! Where a packet goes next.

use crate::network::Network;
use crate::port::INSIDE;

impl Network<'_> {
    /// The egress port and the virtual lane of a packet that is seen at the switch of port `q`.
    #[inline]
    pub(crate) fn route(&mut self, q: u32, id: u32) -> (u32, u8) {
        if self.ports[q as usize].has(INSIDE) {
            return self.route_inside(q, id);
        }
        let packet = &self.packets[id];
        (self.static_route(q, packet.dst), packet.lane())
    }

    /// The egress port that the tables say for `dst` at the switch of port `q`.
    #[inline]
    pub(crate) fn static_route(&self, q: u32, dst: u32) -> u32 {
        let port = &self.ports[q as usize];
        let switch = weft_fabric::SwitchId(port.vertex - self.scenario.fabric.n_hcas());
        let dst = weft_fabric::HcaId(dst);
        let mut number = self.routes.number(switch, dst);
        if number == 0 {
            // The subnet manager found no way round a dead cable: the old one ends there.
            number = self.scenario.routes.number(switch, dst);
            assert!(number > 0, "routes were checked before the run");
        }
        q - u32::from(port.local) + number - 1
    }

    /// Blocks that wait for the egress `o` and those it has spent and not got back.
    #[allow(dead_code)]
    pub(crate) fn load(&mut self, o: u32, vl: u8) -> u32 {
        let lane = self.lane_index(o, vl);
        let lane = &mut self.lanes[lane];
        lane.settle(&mut self.refunds, self.now_ps);
        lane.queued + (self.full - lane.credits()) as u32
    }
}
