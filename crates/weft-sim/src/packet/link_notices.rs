//! Switches without a port towards a leaf notify those that send them packets for it (SHIELD's fast
//! link fault notification), and these send them elsewhere until the subnet manager has new tables.
//!
//! SOURCE: NVIDIA, InfiniBand Cluster Bring-up Procedure, SHIELD (who is notified, of what); US
//! patent 11,552,882 (a switch passes on what it cannot heed).

use crate::limits::NIL;
use crate::packet::link_down::other_path;
use crate::packet::link_errors::notice_number;
use crate::packet::network::Network;
use crate::state::port::{DOWN, ENDPOINT, INSIDE};
use std::collections::BTreeSet;
use weft_fabric::{HcaId, SwitchId};

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// The port `o` went down: its switch notifies others of the leaves that it alone led to.
    #[cold]
    pub(crate) fn report_death(&mut self, o: u32) {
        if let Some(n_leaves) = self.routing.instead.as_ref().map(|it| it.attachments().n_leaves())
        {
            let leaves: Vec<u32> = (0..n_leaves as u32).collect();
            self.notify(o, &leaves);
        }
    }

    /// Let notifications come that are due.
    #[cold]
    pub(crate) fn receive_notices(&mut self) {
        while let Some((o, leaves)) = self.routing.notices.receive(self.clock.now_ps) {
            for leaf in &leaves {
                self.routing.notices.heed(o, *leaf);
            }
            self.divert(o, &leaves);
            self.notify(o, &leaves);
        }
    }

    /// The switch of port `o`, which is closed for these leaves, notifies those that may send it
    /// packets for the ones among them to which no port of its group is open.
    #[cold]
    fn notify(&mut self, o: u32, leaves: &[u32]) {
        let Network { scenario, clock, links, routing, .. } = self;
        let (Some(notice_ps), Some(instead)) = (scenario.link_death.notice_ps, &routing.instead)
        else {
            return;
        };
        let input = &links.inputs[o as usize];
        if input.has(ENDPOINT | INSIDE) {
            return;
        }
        let (first, n_ports) = (o - u32::from(input.local), links.ports[o as usize].n_ports);
        let (switch, attached) = (links.switch_of(input), instead.attachments());
        let group = |switch: SwitchId, leaf: u32| {
            let is_it = attached.switch_of(leaf as usize) == Some(switch);
            if is_it { &[] } else { instead.towards_leaf(switch, leaf as usize) }
        };
        let leads = |switch, leaf, local: u16| group(switch, leaf).contains(&local);
        let is_open = |p: u32, leaf: u32| {
            !links.ports[p as usize].has(DOWN) && !routing.notices.avoid(p, leaf as usize)
        };
        let cut_off = |leaf: &&u32| {
            leads(switch, **leaf, input.local)
                && !group(switch, **leaf).iter().any(|n| is_open(first + u32::from(*n), **leaf))
        };
        let mut sent = Vec::new();
        for leaf in leaves.iter().filter(cut_off) {
            for p in first..first + u32::from(n_ports) {
                let (port, link) = (&links.ports[p as usize], links.link_of(p));
                let far_end = links.inputs.get(port.peer as usize);
                let far_end = far_end.filter(|far| !far.has(ENDPOINT | INSIDE));
                let Some(far_end) = far_end.filter(|_| !port.has(DOWN)) else { continue };
                if leads(links.switch_of(far_end), *leaf, far_end.local) {
                    let time_ps = clock.now_ps + link.delay_ps + link.route_ps + notice_ps;
                    sent.push((time_ps, port.peer, *leaf));
                }
            }
        }
        for (time_ps, port, leaf) in sent {
            routing.notices.send(time_ps, port, leaf);
            clock.schedule_fault(time_ps, notice_number(scenario));
        }
    }

    /// Send elsewhere what waits for port `o` and goes to one of these leaves, where another port
    /// leads there.
    #[cold]
    fn divert(&mut self, o: u32, leaves: &[u32]) {
        let Network { scenario, clock, links, buffers, routing, .. } = self;
        let first = o - u32::from(links.ports[o as usize].local);
        let mut served = BTreeSet::from([o]);
        for vl in 0..buffers.n_lanes as u8 {
            let index = buffers.lane_index(o, vl);
            let mut waiting = Vec::new();
            while buffers.lanes[index].ring != NIL {
                let id = buffers.first_of(index);
                let packet = buffers.packets[id];
                buffers.lanes.unload(index, packet.blocks());
                buffers.turn_ring(links, o, vl, id, packet);
                buffers.packets[id].set_lane(packet.input_lane());
                waiting.push((id, packet));
            }
            if !waiting.is_empty() {
                buffers.lanes.forget_grant(index);
                buffers.lanes.shares.set_short(index, false);
            }
            for (id, packet) in waiting {
                let instead = routing.instead.as_ref().expect("switches react themselves");
                let leaf = instead.attachments().leaf_of(HcaId(packet.dst)) as u32;
                let other = if packet.is_of_tree() || !leaves.contains(&leaf) {
                    None
                } else {
                    other_path(links, buffers, routing, &scenario.steering, clock.now_ps, o, id)
                };
                let (exit, lane) = other.unwrap_or((o, vl));
                let input = links.inputs[(first + packet.input()) as usize].local;
                buffers.enqueue(links, exit, lane, input, id);
                served.insert(exit);
            }
        }
        if links.ports[o as usize].work == 0 {
            links.unblock(o, clock.now_ps);
        }
        for exit in served {
            self.serve(exit);
        }
    }
}
