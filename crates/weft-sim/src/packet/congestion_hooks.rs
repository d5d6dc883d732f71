//! Congestion control on the path: switches mark packets, receivers notify senders, senders
//! space them.

use crate::congestion::defaults::Sent;
use crate::congestion::endpoint::{Came, Seen};
use crate::congestion::law::{Idle, Notice};
use crate::congestion::marking::Leaving;
use crate::congestion::{Law, LawState};
use crate::limits::NIL;
use crate::model::framing::{Framing, PacketKind};
use crate::model::scenario::ValidScenario;
use crate::packet::routing::adaptive::static_route;
use crate::state::buffer::buffers::Buffers;
use crate::state::links::Links;
use crate::state::packet::{FECN, Packet};
use crate::state::port::{ENDPOINT, INSIDE, TO_ENDPOINT};
use crate::state::routes_in_force::RoutesInForce;
use crate::state::transport::endpoints::Endpoints;
use crate::state::transport::message::Message;
use crate::state::transport::pace::Pace;
use crate::state::transport::sender::key_of;
use crate::state::transport::spacing::Spacing;
use weft_fabric::HcaId;

/// Ports of a path that is walked to see how long it takes, at most.
const MOST_HOPS: usize = 64;

// ---- switches ---------------------------------------------------------------------------------

/// Mark a packet that is about to leave a switch by port `o`, if it has to be. `starved`: its lane
/// has waited for credit since its last packet.
pub(crate) fn mark<const PLAIN: bool>(
    links: &Links,
    buffers: &mut Buffers<PLAIN>,
    congestion: &mut Spacing<'_>,
    o: u32,
    id: u32,
    starved: bool,
) {
    let (port, packet) = (&links.ports[o as usize], &buffers.packets[id]);
    let parameters = congestion.parameters();
    let controlled = parameters.controls(packet.lane());
    if packet.kind() != PacketKind::Data || port.has(INSIDE) || !controlled {
        return;
    }
    let index = buffers.lane_index(o, packet.lane());
    let leaving = Leaving {
        behind_blocks: buffers.lanes.backlog_of(index, buffers.full) - packet.blocks(),
        blocks: packet.blocks(),
        starved,
        to_host: port.has(TO_ENDPOINT),
        draws: (congestion.seed ^ u64::from(o) << 40, port.xmit_packets),
    };
    if congestion.marker.marks(&parameters.marking, index, leaving) {
        buffers.packets[id].set(FECN, true);
        congestion.ports[o as usize].marked += 1;
    }
}

// ---- senders ----------------------------------------------------------------------------------

/// Number the queue pair of a message that is handed over: what slows it down goes by that. Of a
/// lane that is not controlled it has none.
pub(crate) fn number_pace(
    scenario: &ValidScenario,
    links: &Links,
    routing: &RoutesInForce,
    endpoints: &mut Endpoints,
    congestion: &mut Spacing<'_>,
    id: u32,
) {
    let parameters = congestion.parameters();
    let message = &mut endpoints.messages[id];
    if !parameters.controls(message.lane) {
        return;
    }
    let key = if parameters.by_lane {
        u64::from(message.port) << 4 | u64::from(message.lane)
    } else {
        key_of(message)
    };
    if let Some(number) = congestion.paces.number(key) {
        message.pace = number;
        return;
    }
    // Packets of trees are neither marked nor answered, and take no path that tables say.
    let wants_idle = matches!(parameters.law, Law::Rtt(_)) && !message.role.is_of_tree();
    let idle = if wants_idle { idle(scenario, links, routing, message) } else { Idle::default() };
    let pace = Pace {
        next_ps: 0,
        free_ps: u64::MAX,
        notified_ps: None,
        state: parameters.law.begin(idle),
        src: message.src,
        dst: message.dst,
        lane: message.lane,
        ends: [links.ports[message.port as usize].vertex, message.dst_vertex],
        seen: Seen::default(),
    };
    message.pace = congestion.paces.add(key, pace);
}

/// Time of a probe of a message's queue pair there and back in an idle network that is routed
/// by its tables; no bound where the path leads through the insides of nodes.
fn idle(
    scenario: &ValidScenario,
    links: &Links,
    routing: &RoutesInForce,
    message: &Message,
) -> Idle {
    if scenario.fabric.inside.is_some() {
        return Idle { base_ps: u64::MAX, packets_ps: 0 };
    }
    let from_hca = links.ports[message.port as usize].vertex;
    let to_port = scenario.fabric.hca_port(HcaId(message.dst_hca)).0;
    let there = idle_path(scenario, links, routing, message.port, message.dst_hca);
    let back = idle_path(scenario, links, routing, to_port, from_hca);
    Idle { base_ps: there.base_ps + back.base_ps, packets_ps: there.packets_ps + back.packets_ps }
}

/// Time of a probe from a port to the HCA `dst`, cut-through, and of a whole packet on each link of
/// its path.
fn idle_path(
    scenario: &ValidScenario,
    links: &Links,
    routing: &RoutesInForce,
    from: u32,
    dst: u32,
) -> Idle {
    let framing = &scenario.framing;
    let bits = u64::from(framing.control_bytes(PacketKind::Probe)) * 8;
    let packet_bits = u64::from(framing.wire_bytes(scenario.mtu_bytes, true)) * 8;
    let first = links.link_of(from);
    let mut path = Idle { base_ps: first.rate.duration_of_bits(bits).0, packets_ps: 0 };
    let mut o = from;
    for _ in 0..MOST_HOPS {
        let (link, q) = (links.link_of(o), links.ports[o as usize].peer);
        path.base_ps += link.delay_ps;
        path.packets_ps += link.rate.duration_of_bits(packet_bits).0;
        if links.inputs[q as usize].has(ENDPOINT) {
            return path;
        }
        path.base_ps += link.route_ps;
        o = static_route(links, routing, q, dst);
    }
    Idle { base_ps: u64::MAX / 4, packets_ps: 0 }
}

/// When a queue pair may send again that sends a packet of so many bytes now by port `o`; none
/// where it need not wait longer than its link.
pub(crate) fn space(
    links: &Links,
    congestion: &mut Spacing<'_>,
    now_ps: u64,
    o: u32,
    pace: u32,
    bytes: u32,
) -> Option<u64> {
    if pace == NIL {
        return None;
    }
    let rate = links.link_of(o).rate;
    let pace = &mut congestion.paces[pace];
    let sent = Sent {
        now_ps,
        idle_ps: now_ps.saturating_sub(pace.free_ps),
        bytes,
        duration_ps: rate.duration_of_bits(u64::from(bytes) * 8).0,
        link_bits_per_s: rate.0,
    };
    let delay_ps = pace.state.delay_ps(sent);
    pace.free_ps = now_ps + sent.duration_ps + delay_ps;
    if delay_ps == 0 {
        return None;
    }
    pace.next_ps = pace.free_ps;
    Some(pace.next_ps)
}

/// A probe of the queue pair whose data has just left for `dst`, if its law wants one now.
pub(crate) fn probe(
    framing: &Framing,
    congestion: &mut Spacing<'_>,
    now_ps: u64,
    pace: u32,
    dst: u32,
) -> Option<Packet> {
    if pace == NIL {
        return None;
    }
    let here = &mut congestion.paces[pace];
    let LawState::Rtt(_, window) = &mut here.state else { return None };
    if !window.wants_probe(now_ps, congestion.mtu_bytes) {
        return None;
    }
    window.begin_probe(now_ps);
    let bytes = framing.control_bytes(PacketKind::Probe);
    Some(Packet::new(PacketKind::Probe, pace, dst, here.lane, bytes))
}

/// A packet without payload leaves an endpoint: a probe's time begins.
pub(crate) fn note_probe(congestion: &mut Spacing<'_>, packet: &Packet, now_ps: u64) {
    if packet.kind() == PacketKind::Probe
        && let LawState::Rtt(_, window) = &mut congestion.paces[packet.message].state
    {
        window.sent_ps = now_ps;
    }
}

/// A notification for a queue pair has come to its sender's port.
pub(crate) fn notified(
    links: &Links,
    congestion: &mut Spacing<'_>,
    now_ps: u64,
    port: u32,
    pace: u32,
    argument: u32,
) {
    congestion.ports[port as usize].rcv_becn += 1;
    heed(links, congestion, now_ps, port, pace, argument);
}

/// A queue pair learns about its path; `argument` is what its law makes of it.
pub(crate) fn heed(
    links: &Links,
    congestion: &mut Spacing<'_>,
    now_ps: u64,
    port: u32,
    pace: u32,
    argument: u32,
) {
    let notice = Notice { now_ps, link_bits_per_s: links.link_of(port).rate.0, argument };
    congestion.paces[pace].state.notified(notice);
}

// ---- receivers --------------------------------------------------------------------------------

/// A packet with payload has come to a host's port: the argument of the notification that its
/// sender gets, if it gets one.
pub(crate) fn news_for<const PLAIN: bool>(
    links: &Links,
    buffers: &Buffers<PLAIN>,
    congestion: &mut Spacing<'_>,
    now_ps: u64,
    port: u32,
    pace: u32,
    packet: &Packet,
) -> Option<u32> {
    if pace == NIL {
        return None;
    }
    let parameters = congestion.parameters();
    let counts = &mut congestion.ports[port as usize];
    let pair = &mut congestion.paces[pace];
    if let Law::Endpoint(law) = &parameters.law {
        let input = &links.inputs[port as usize];
        let rate = links.kinds[input.link as usize].rate;
        let duration_ps = |bytes: u32| rate.duration_of_bits(u64::from(bytes) * 8).0;
        let lane = buffers.lane_index(input.feeder, packet.lane());
        let came = Came {
            pace,
            now_ps,
            backlog_blocks: buffers.lanes.backlog_of(lane, buffers.full),
            duration_ps: duration_ps(packet.wire_bytes.into()),
            packet_ps: duration_ps(congestion.mtu_bytes),
        };
        return law.notifies(&mut counts.edge, &mut pair.seen, came);
    }
    if !packet.has(FECN) {
        return None;
    }
    counts.rcv_fecn += 1;
    let interval_ps = parameters.cnp_interval_ps;
    let due = pair.notified_ps.is_none_or(|notified_ps| notified_ps + interval_ps <= now_ps);
    if due {
        pair.notified_ps = Some(now_ps);
    }
    due.then_some(0)
}
