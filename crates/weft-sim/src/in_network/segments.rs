//! Sums of nodes between GPUs (NVLSTree): up two binary trees, and down again.
//!
//! A segment is some of the pieces of a GPU's slice. It goes up when the node's sums of all of them
//! have come, and those of all below; from the root it goes down, and every GPU stores its pieces
//! to its node. Segments take the two trees in turn. They are messages as any other, but no
//! processor of a rank sends them.
//!
//! SOURCE: Jeaugey, "Massively Scale Your Deep Learning Training with NCCL 2.4" (2019), for the
//! trees; NVIDIA NCCL 2.18's release notes, for NVLSTree.

use crate::host::hosts::Hosts;
use crate::in_network::slices::PASSED_ON;
use crate::in_network::switches::Switches;
use crate::limits::NIL;
use crate::model::framing::PacketKind;
use crate::model::in_network::forest::{Kin, NUMBER, Part};
use crate::state::transport::message::{Message, Role, Segment};

impl Hosts<'_, Switches, false> {
    /// A node's sum of a piece has come to its GPU.
    pub(crate) fn own_sum_arrived(&mut self, member: u32, operation: u32) {
        let segment = self.segment_of(member, operation & NUMBER);
        self.add_to(member, segment);
    }

    /// A segment has come from the GPU of another node.
    pub(crate) fn sum_arrived(&mut self, id: u32, segment: Segment) {
        let message = self.network.endpoints.messages.remove(id);
        let member = self.network.in_network().member_of[message.dst as usize];
        if segment.down {
            return self.pass_down(member, segment);
        }
        self.add_to(member, segment);
    }

    /// The segment that has the piece of this number.
    fn segment_of(&self, member: u32, number: u32) -> Segment {
        let plan = self.network.in_network();
        let n_members = u64::from(plan.forest.members[member as usize].n_members);
        let window = u64::from(plan.model.window());
        let part = self.mode.members.part(member);
        let piece = part.piece_of(number, window);
        let (slice, turn) = (piece % n_members, piece / n_members / part.group);
        let first = turn * part.group * n_members + slice;
        let n_pieces = (part.n_pieces - first).div_ceil(n_members).min(part.group);
        Segment {
            first: part.number_of(first, window) as u16,
            n_pieces: n_pieces as u16,
            second: turn % 2 == 1,
            down: false,
        }
    }

    /// The numbers of a segment's pieces, and their bytes.
    fn pieces(&self, member: u32, segment: Segment) -> impl Iterator<Item = (u32, u64)> + use<> {
        let plan = self.network.in_network();
        let n_members = u64::from(plan.forest.members[member as usize].n_members);
        let (window, part) = (u64::from(plan.model.window()), *self.mode.members.part(member));
        let (cut, first) =
            (plan.model.cut(part.method), part.piece_of(segment.first.into(), window));
        (0..u64::from(segment.n_pieces)).map(move |turn| {
            let piece = first + turn * n_members;
            (part.number_of(piece, window), cut.piece_bytes(part.size_bytes, piece))
        })
    }

    fn kin(&self, member: u32, segment: Segment) -> Kin {
        let forest = &self.network.in_network().forest;
        let Part::Slices { kin, .. } = forest.members[member as usize].part else {
            unreachable!("only GPUs of a node have slices")
        };
        forest.kin[kin as usize][usize::from(segment.second)]
    }

    /// One more has been added to a segment: of those below, or of the node's own pieces.
    fn add_to(&mut self, member: u32, segment: Segment) {
        let kin = self.kin(member, segment);
        let n_needed = segment.n_pieces + kin.below().count() as u16;
        let added = self.mode.members.added(member, segment.first);
        *added += 1;
        if *added < n_needed {
            return;
        }
        *added = 0;
        match kin.parent {
            NIL => self.pass_down(member, segment),
            parent => self.send_sum(member, parent, segment),
        }
    }

    /// A whole segment goes to those below, and to all GPUs of the node.
    fn pass_down(&mut self, member: u32, segment: Segment) {
        let segment = Segment { down: true, ..segment };
        for child in self.kin(member, segment).below() {
            self.send_sum(member, child, segment);
        }
        let method = self.mode.members.part(member).method;
        for (number, payload_bytes) in self.pieces(member, segment) {
            let bytes = self.network.in_network().model.piece_bytes(method, payload_bytes) as u16;
            self.send_on(member, PASSED_ON, PacketKind::Flood, number, bytes);
        }
    }

    /// Send a segment to the GPU of another node.
    fn send_sum(&mut self, from: u32, to: u32, segment: Segment) {
        let size_bytes = self.pieces(from, segment).map(|(_, bytes)| bytes).sum();
        let rank = |member: u32| self.network.in_network().forest.members[member as usize].rank;
        let (src, dst) = (rank(from), rank(to));
        let there = self.network.scenario.ranks[dst as usize].hca.0;
        let mut message = Message::new(src, dst, there, size_bytes, Role::Sum(segment));
        message.regime = self.network.scenario.hosts.regime_of(size_bytes);
        self.address(&mut message);
        let id = self.network.endpoints.messages.add(message);
        self.release(id);
    }
}
