//! Slices of a node's GPUs: what each does with the piece that its NvSwitch has summed for it.
//!
//! A GPU reads its slice reduced (S in all leave each GPU, S/n come), and stores it to all by
//! multicast (S/n leave, S come): S (1 + 1/n) in each direction. Between nodes, the sum first goes
//! up the tree of the GPU's rail (CollNet) or is added to those of other GPUs (NVLSTree:
//! `segments.rs`), and that result is what is stored.
//!
//! SOURCE: NVIDIA nccl-tests, the factor of NVLS (n/(n+1) of the wire's rate).

use crate::host::hosts::Hosts;
use crate::in_network::switches::Switches;
use crate::model::framing::PacketKind;
use crate::model::in_network::collective_method::CollectiveMethod;
use crate::model::in_network::forest::Part;
use crate::state::packet::Packet;
use crate::state::transport::message::{Message, Role};

/// Keeps queue pairs of a rank apart: pieces of its own take the lowest parts.
pub(crate) const PASSED_ON: u16 = 1 << 14;
const ACROSS: u16 = 1 << 15;

impl Hosts<'_, Switches, false> {
    /// A packet has come to a member that has a part in slices.
    pub(crate) fn slice_arrived(&mut self, part: Part, packet: Packet) {
        let model = &self.network.in_network().model;
        match part {
            Part::Slices { .. } if packet.kind() == PacketKind::Flood => {
                self.piece_is_complete(packet.dst, packet.message);
            }
            Part::Slices { rail, .. } => match self.mode.members.part(packet.dst).method {
                CollectiveMethod::NvlsTree => self.own_sum_arrived(packet.dst, packet.message),
                CollectiveMethod::Collnet => {
                    let bytes = model.across(packet.wire_bytes);
                    self.send_on(rail, ACROSS, PacketKind::Up, packet.message, bytes);
                }
                _ => {
                    let bytes = packet.wire_bytes;
                    self.send_on(packet.dst, PASSED_ON, PacketKind::Flood, packet.message, bytes);
                }
            },
            Part::Rail { node } => {
                let bytes = model.inside(packet.wire_bytes);
                self.send_on(node, PASSED_ON, PacketKind::Flood, packet.message, bytes);
            }
            Part::Own => unreachable!("members of their own have no slice"),
        }
    }

    /// Send a piece on into the tree of a member.
    pub(crate) fn send_on(
        &mut self,
        member: u32,
        part: u16,
        kind: PacketKind,
        operation: u32,
        bytes: u16,
    ) {
        let forest = &self.network.in_network().forest;
        let (rank, number) = (
            forest.members[member as usize].rank,
            operation & crate::model::in_network::forest::NUMBER,
        );
        let plane = forest.plane_of(member, number);
        let role = Role::Tree { kind, operation, bytes, streams: true };
        let mut message = Message::new(rank, rank, plane.junction, bytes.into(), role);
        self.address(&mut message);
        (message.port, message.part) = (plane.port, part | plane.junction as u16 & (PASSED_ON - 1));
        message.begun = true;
        let id = self.network.endpoints.messages.add(message);
        self.network.send(id);
    }
}
