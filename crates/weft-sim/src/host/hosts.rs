//! The work of hosts: ranks run their exchanges, pay LogGP costs, and agree on large messages.

use crate::document::{Matching, Protocol};
use crate::host::matching::Found;
use crate::host::mode::Mode;
use crate::host::rank::{Arrival, Progress, Rank, match_key};
use crate::host::stage::Stage;
use crate::host::transfers::Transfers;
use crate::limits::{CLOCK_END_PS, NEVER, NIL};
use crate::model::host::slowed;
use crate::packet::network::Network;
use crate::state::calendar::Cold;
use crate::state::columns::flows::Posted;
use crate::state::transport::message::{Message, Role};
use weft_fabric::{BitsPerSecond, HcaId, PortId};
use weft_traffic::{Exchange, Wait};

/// Something the driver has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// A rank has finished the iteration.
    Finished(u32),
    /// A rank begins its move of that number.
    Began(u32, u64),
    /// A rank waits until all that run have come as far.
    Together(u32),
    /// A message that has a row of its own is complete, and this rank has it; or the rank passes
    /// the mark of that row.
    Message { rank: u32, row: u32, duration_ps: u64 },
    /// The connection from the first of these ranks to the second is broken.
    Broken(u32, u32),
    /// There is no room for what this rank has to send: more than so many of these.
    Crowded { rank: u32, most: u32, of: &'static str },
}

impl Report {
    /// The rank that reports.
    pub(crate) fn rank(self) -> u32 {
        match self {
            Report::Finished(rank) | Report::Together(rank) | Report::Broken(rank, _) => rank,
            Report::Began(rank, _) => rank,
            Report::Message { rank, .. } | Report::Crowded { rank, .. } => rank,
        }
    }
}

pub(crate) struct Hosts<'a, M, const PLAIN: bool> {
    pub(crate) network: Network<'a, PLAIN>,
    pub(crate) ranks: Vec<Rank>,
    pub(crate) reports: Vec<Report>,
    pub(crate) transfers: Transfers,
    pub(crate) mode: M,
}

impl<'a, M: Mode<PLAIN>, const PLAIN: bool> Hosts<'a, M, PLAIN> {
    pub(crate) fn new(network: Network<'a, PLAIN>) -> Hosts<'a, M, PLAIN> {
        let n_ranks = network.scenario.ranks.len() as u32;
        let seed = network.scenario.seed;
        let ranks = (0..n_ranks).map(|rank| Rank::new(seed, rank)).collect();
        let transfers = Transfers::new(network.fabric());
        let mode = M::new(network.scenario);
        Hosts { network, ranks, reports: Vec::new(), transfers, mode }
    }

    /// Let every rank that takes part begin an iteration now; how many there are.
    pub(crate) fn begin(&mut self, stage: &Stage) -> u32 {
        let now_ps = self.network.clock.now_ps;
        for number in stage.members() {
            let rank = &mut self.ranks[*number as usize];
            let start_ps = now_ps + self.network.scenario.hosts.jitter(&mut rank.random);
            rank.begin(start_ps);
            self.wake(*number, start_ps);
        }
        stage.members().len() as u32
    }

    /// Let a rank that waits for the others go on: all have come as far.
    pub(crate) fn go_on(&mut self, number: u32) {
        let now_ps = self.network.clock.now_ps;
        let rank = &mut self.ranks[number as usize];
        if std::mem::take(&mut rank.together) {
            self.wake(number, now_ps);
        }
    }

    /// Let a rank's processor go on at `time_ps`, or when it is free.
    pub(crate) fn wake(&mut self, number: u32, time_ps: u64) {
        let rank = &mut self.ranks[number as usize];
        let time_ps = time_ps.max(rank.free_ps).max(rank.start_ps);
        if time_ps < rank.wake_ps {
            rank.wake_ps = time_ps;
            self.network.clock.schedule_cold(time_ps, Cold::Rank(number));
        }
    }

    /// A rank's processor goes on, until it is busy, blocked or finished.
    pub(crate) fn run_rank(&mut self, stage: &Stage, number: u32) {
        let now_ps = self.network.clock.now_ps;
        if self.ranks[number as usize].wake_ps != now_ps {
            return;
        }
        self.ranks[number as usize].wake_ps = NEVER;
        loop {
            let rank = &mut self.ranks[number as usize];
            if rank.free_ps > now_ps {
                let free_ps = rank.free_ps;
                return self.wake(number, free_ps);
            }
            if rank.preparing != NIL {
                let message = std::mem::replace(&mut rank.preparing, NIL);
                self.hand_over(message);
            } else if let Some(arrival) = rank.inbox.pop_front() {
                self.take(number, arrival);
            } else if M::OFFLOADS && M::goes_on_with_part(self, number) {
            } else if !self.may_go_on(number) || !self.next_exchange(stage, number) {
                return;
            }
        }
    }

    /// Whether a rank's waits are over; one that has to wait for the others of its tenant reports
    /// it.
    fn may_go_on(&mut self, number: u32) -> bool {
        let now_ps = self.network.clock.now_ps;
        let rank = &mut self.ranks[number as usize];
        if M::FLOWS && rank.done_ps > now_ps && rank.outstanding == 0 {
            let done_ps = rank.done_ps;
            self.wake(number, done_ps);
            return false;
        }
        let together = rank.waiting == Wait::Together;
        if rank.together || !rank.wait_is_over() {
            return false;
        }
        if together {
            rank.together = true;
            self.reports.push(Report::Together(number));
        }
        !together
    }

    /// Begin the next exchange; false where the rank has finished or must wait for its time.
    fn next_exchange(&mut self, stage: &Stage, number: u32) -> bool {
        let now_ps = self.network.clock.now_ps;
        let rank = &mut self.ranks[number as usize];
        let Some(exchange) = stage.exchange(number, rank.index) else {
            if !rank.done {
                rank.done = true;
                self.reports.push(Report::Finished(number));
            }
            return false;
        };
        let not_before_ps = stage.start_ps + exchange.not_before_ps;
        if not_before_ps > now_ps {
            self.wake(number, not_before_ps);
            return false;
        }
        if exchange.compute_ps > 0 && rank.progress == Progress::Compute {
            rank.progress = Progress::Post;
            let time_ps = self.processor_time(number, exchange.compute_ps);
            self.ranks[number as usize].free_ps = now_ps + time_ps;
            return true;
        }
        if let Some(recv) = exchange.recv.filter(|_| rank.progress != Progress::Send) {
            rank.progress = Progress::Send;
            self.post(number, match_key(recv.peer, &recv), &exchange);
            let rank = &self.ranks[number as usize];
            if rank.free_ps > now_ps || !rank.inbox.is_empty() {
                return true;
            }
        }
        let rank = &mut self.ranks[number as usize];
        if stage.looks_at_moves() {
            self.reports.push(Report::Began(number, rank.index));
        }
        let duration_ps = now_ps - stage.start_ps;
        let passed = |row| Report::Message { rank: number, row, duration_ps };
        self.reports.extend(stage.mark(number, rank.index).map(passed));
        let message = stage.message_row(number, rank.index);
        rank.index += 1;
        (rank.progress, rank.waiting) = (Progress::Compute, exchange.wait);
        if let Some(offload) = exchange.offload.filter(|_| M::OFFLOADS) {
            M::begin_part(self, number, offload);
            return true;
        }
        self.prepare(number, exchange, message)
    }

    /// Post a receive; a message that came first is matched at once.
    fn post(&mut self, number: u32, key: u32, exchange: &Exchange) {
        let model = &self.network.scenario.hosts.matching;
        let rank = &mut self.ranks[number as usize];
        rank.outstanding += 1;
        rank.receives += 1;
        let (early, n_looked) = rank.queues.post(model, key);
        if let Some(message) = early {
            if M::meet_ahead(self, number, message, exchange) {
                return;
            }
            let rank = &mut self.ranks[number as usize];
            return rank.inbox.push_back(Arrival { message, n_looked });
        }
        let cost_ps = self.processor_time(number, model.search_ps(n_looked));
        self.ranks[number as usize].free_ps = self.network.clock.now_ps + cost_ps;
    }

    /// Spend the processor time of a send; false where there is no room for one message more.
    fn prepare(&mut self, number: u32, exchange: Exchange, row: Option<(u32, u64)>) -> bool {
        let Some(send) = exchange.send else { return true };
        let scenario = self.network.scenario;
        let most = scenario.max_messages;
        if self.network.endpoints.messages.len() >= most as usize {
            let of = "messages posted and not received";
            self.reports.push(Report::Crowded { rank: number, most, of });
            return false;
        }
        let (here, there) = (scenario.ranks[number as usize], scenario.ranks[send.peer as usize]);
        let regime = scenario.regime_between(here, there, send.size_bytes);
        let costs = scenario.hosts.regime(regime);
        let agreed = costs.protocol == Protocol::Rendezvous && here.node != there.node;
        let role = if agreed { Role::Agreed } else { Role::Eager };
        let mut message = Message::new(number, send.peer, there.hca.0, send.size_bytes, role);
        (message.regime, message.key) = (regime, match_key(number, &send));
        if let Some((row, start_ps)) = row {
            (message.row, message.start_ps) = (row, start_ps);
        }
        self.address(&mut message);
        message.flow = self.write_down(&message);
        let cost_ps = self.processor_time(number, costs.send.ps(send.size_bytes));
        M::count_turn(self, &mut message);
        let id = self.network.endpoints.messages.add(message);
        let rank = &mut self.ranks[number as usize];
        rank.free_ps = self.network.clock.now_ps + cost_ps;
        rank.preparing = id;
        rank.outstanding += u32::from(agreed);
        true
    }

    /// Write a message down among the first flows; its row.
    fn write_down(&mut self, message: &Message) -> u32 {
        let scenario = self.network.scenario;
        if scenario.probes.flows == 0 {
            return NIL;
        }
        let tenant = scenario.ranks[message.src as usize].tenant;
        let first_rank = scenario.tenants[tenant as usize].first_rank;
        let posted = Posted {
            tenant,
            src: message.src - first_rank,
            dst: message.dst - first_rank,
            size_bytes: message.size_bytes,
        };
        self.network.endpoints.flows.begin(scenario.probes.flows, posted, self.network.clock.now_ps)
    }

    /// The port a message is injected at, its tenant's service level, and the lane it takes.
    pub(crate) fn address(&self, message: &mut Message) {
        let scenario = self.network.scenario;
        let place = scenario.ranks[message.src as usize];
        message.port = scenario.fabric.hca_port(place.hca).0;
        message.service_level = scenario.tenants[place.tenant as usize].service_level;
        message.lane = match &scenario.steering.paths {
            None => scenario.lanes.of_level(message.service_level),
            Some(paths) => {
                let port = PortId(message.port);
                paths.first_lane(place.hca, HcaId(message.dst_hca), port)
            }
        };
    }

    /// Processor time on this rank's node: slower nodes take longer, noise comes on top.
    pub(crate) fn processor_time(&mut self, number: u32, ps: u64) -> u64 {
        if ps == 0 {
            return 0;
        }
        let scenario = self.network.scenario;
        let node = scenario.ranks[number as usize].node.index();
        let ps = slowed(ps, scenario.faults.slowness[node]);
        let noise = scenario.faults.noise[node].unwrap_or(scenario.hosts.noise);
        noise.lengthen(ps, &mut self.ranks[number as usize].random)
    }

    /// The processor has prepared a message: over to the HCA, or the channel inside the node.
    pub(crate) fn hand_over(&mut self, id: u32) {
        let message = self.network.endpoints.messages[id];
        let scenario = self.network.scenario;
        if message.role.is_of_tree() {
            return self.release(id);
        }
        if M::FLOWS && message.role == Role::Eager {
            self.ranks[message.src as usize].in_flight += 1;
        }
        let places = &scenario.ranks;
        let (here, there) = (places[message.src as usize], places[message.dst as usize]);
        if scenario.is_local(here, there) {
            let rate = BitsPerSecond(scenario.hosts.intra_bits_per_s);
            let copy_ps = rate.duration_of_bits(message.size_bytes * 8).0.min(CLOCK_END_PS);
            let rank = &mut self.ranks[message.src as usize];
            let begin_ps = rank.channel_free_ps.max(self.network.clock.now_ps);
            rank.channel_free_ps = (begin_ps + copy_ps).min(2 * CLOCK_END_PS);
            let seen_ps = rank.channel_free_ps + scenario.hosts.intra_latency_ps;
            return self.network.clock.schedule_cold(seen_ps, Cold::Local(id));
        }
        if here.node == there.node {
            return self.inject(id);
        }
        if message.role == Role::Agreed {
            if M::ask_ahead(self, id) {
                return;
            }
            let request = self.control(message.src, message.dst, Role::Request(id));
            self.network.endpoints.messages[request].key = message.key;
            self.ranks[message.src as usize].in_flight += 1;
            return self.inject(request);
        }
        if message.role.is_agreement() {
            return self.inject(id);
        }
        self.release(id);
    }

    /// A whole message is at its destination.
    pub(crate) fn arrived(&mut self, id: u32) {
        let message = self.network.endpoints.messages[id];
        match message.role {
            Role::Leg(transfer) => return self.leg_arrived(transfer, id),
            Role::Sum(segment) => return M::sum_arrived(self, id, segment),
            _ => {}
        }
        let now_ps = self.network.clock.now_ps;
        let model = &self.network.scenario.hosts.matching;
        let asks = matches!(message.role, Role::Eager | Role::Request(_));
        if M::FLOWS && asks {
            self.ranks[message.src as usize].in_flight -= 1;
        }
        let rank = &mut self.ranks[message.dst as usize];
        let found = match message.role {
            Role::Eager | Role::Request(_) => rank.queues.arrive(model, message.key, id),
            Role::GoAhead(_) => {
                Some(Found { by_hca: model.by == Matching::Hardware, ..Found::default() })
            }
            _ => Some(Found::default()),
        };
        match found {
            None => {}
            // The HCAs agree among themselves.
            Some(Found { by_hca: true, .. }) if message.role.is_agreement() => self.agree(id),
            Some(_) if M::takes_at_once(self, id, &message) => {}
            Some(Found { n_looked, .. }) => {
                let rank = &mut self.ranks[message.dst as usize];
                rank.inbox.push_back(Arrival { message: id, n_looked });
                self.wake(message.dst, now_ps);
            }
        }
    }

    /// The processor turns to a message that was matched.
    pub(crate) fn take(&mut self, number: u32, arrival: Arrival) {
        let now_ps = self.network.clock.now_ps;
        let hosts = &self.network.scenario.hosts;
        let message = self.network.endpoints.messages[arrival.message];
        let search_ps = hosts.matching.search_ps(arrival.n_looked);
        if message.role.is_agreement() {
            if search_ps == 0 {
                return self.agree(arrival.message);
            }
            // Searched first: it comes to the processor again when that is done.
            let cost_ps = self.processor_time(number, search_ps);
            let rank = &mut self.ranks[number as usize];
            rank.free_ps = now_ps + cost_ps;
            return rank.inbox.push_front(Arrival { n_looked: 0, ..arrival });
        }
        self.network.endpoints.messages.remove(arrival.message);
        let recv_ps = hosts.regime(message.regime).recv.ps(message.size_bytes);
        let late_ps = self.network.scenario.transport.late_ps(message.n_late);
        let cost_ps = self.processor_time(number, recv_ps + search_ps + late_ps);
        let rank = &mut self.ranks[number as usize];
        rank.free_ps = now_ps + cost_ps;
        rank.outstanding -= 1;
        rank.receives -= 1;
        rank.count_received(message.key);
        let end_ps = rank.free_ps;
        if message.flow != NIL {
            self.network.endpoints.flows.end(message.flow, end_ps);
        }
        if message.row != NIL {
            let duration_ps = end_ps - message.start_ps;
            self.reports.push(Report::Message { rank: number, row: message.row, duration_ps });
        }
    }

    /// A rank's agreed message is acknowledged, or has left where there are no acknowledgements:
    /// its send is complete.
    pub(crate) fn sent(&mut self, number: u32) {
        self.ranks[number as usize].outstanding -= 1;
        let now_ps = self.network.clock.now_ps;
        self.wake(number, now_ps);
    }
}
