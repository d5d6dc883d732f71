//! The simulation: the jobs of all tenants on one fabric, event by event.

use crate::host::hosts::{Hosts, Report};
use crate::host::mode::Mode;
use crate::limits::{CLOCK_END_PS, EVENTS_A_LOOK, MAX_CONNECTIONS, MAX_NUMBER, PACKETS};
use crate::model::scenario::ValidScenario;
use crate::packet::link_errors::{lost_on_the_wire, sweep_number};
use crate::packet::network::Network;
use crate::packet::numbering::describe_broken;
use crate::run::deadlock;
use crate::run::job::Job;
use crate::run::monitor::{Monitor, Standing};
use crate::run::port_columns::port_columns;
use crate::run::watchdog::Watch;
use crate::state::calendar::{Cold, Event, Kind};
use crate::state::columns::load::LoadColumns;
use crate::state::columns::outcome::{Outcome, Status};
use crate::state::port::{ENDPOINT, FRAIL};
use std::sync::atomic::{AtomicBool, Ordering};

/// And of flows on links so many: a tenth of a second or less.
const FLOWS_A_LOOK: u64 = 1 << 22;

/// The time that rows report: what was skipped has passed in it.
fn reported_ps(jobs: &[Job<'_>], now_ps: u64) -> u64 {
    jobs.iter().map(|job| job.reported_ps(now_ps)).max().expect("a scenario has work")
}

fn crowded(most: u32, of: &str) -> String {
    format!("stopped: more than {most} {of}")
}

/// A run under way.
pub(crate) struct Sim<'a, M, const PLAIN: bool> {
    scenario: &'a ValidScenario,
    hosts: Hosts<'a, M, PLAIN>,
    /// One a tenant.
    jobs: Vec<Job<'a>>,
    /// Jobs that are not done, and those of them that do not repeat.
    n_open: usize,
    n_lasting: usize,
    outcome: Outcome,
    events: u64,
    /// How many there are when the next look is due.
    next_look: u64,
    /// Looks at flows by the last time that this was put forward for them.
    looks_heeded: u64,
    watch: Watch,
    /// When all work was done.
    end_ps: Option<u64>,
}

impl<'a, M: Mode<PLAIN>, const PLAIN: bool> Sim<'a, M, PLAIN> {
    pub(crate) fn new(scenario: &'a ValidScenario) -> Sim<'a, M, PLAIN> {
        let tenants = &scenario.tenants;
        let numbered = tenants.iter().zip(0..);
        Sim {
            scenario,
            hosts: Hosts::new(Network::new(scenario)),
            jobs: numbered.map(|(tenant, number)| Job::new(tenant, number)).collect(),
            n_open: tenants.len(),
            n_lasting: tenants.iter().filter(|tenant| !tenant.repeat).count(),
            outcome: Outcome::default(),
            events: 0,
            next_look: 0,
            looks_heeded: 0,
            watch: Watch::new(scenario),
            end_ps: None,
        }
    }

    pub(crate) fn run(&mut self, stop: &AtomicBool, monitor: &Monitor) -> Status {
        self.open();
        while let Some(event) = self.hosts.network.clock.calendar.pop() {
            if self.events == self.next_look
                && let Some(status) = self.look(stop, monitor)
            {
                return status;
            }
            if event.time_ps > CLOCK_END_PS {
                return self.outlasted();
            }
            self.events += 1;
            let before_ps = std::mem::replace(&mut self.hosts.network.clock.now_ps, event.time_ps);
            if self.hosts.network.look_ahead {
                self.hosts.network.look_ahead();
            }
            if event.kind() != Kind::Cold {
                self.handle(event);
            } else if let Some(status) = self.handle_cold(event.what(), before_ps) {
                return status;
            }
            if !self.hosts.reports.is_empty()
                && let Some(status) = self.take_reports()
            {
                return status;
            }
        }
        if self.n_open == 0 {
            return Status::Complete;
        }
        self.hosts.network.come_to_rest();
        let what = format!("deadlock: {}", deadlock::describe(&self.hosts, &self.jobs));
        self.end(Status::Deadlock, what)
    }

    fn outlasted(&mut self) -> Status {
        self.end(Status::Stopped, "stopped: more than 53 days of simulated time".to_owned())
    }

    fn end(&mut self, status: Status, message: String) -> Status {
        self.outcome.message = message;
        status
    }

    /// Now and then: report where the run stands, heed a request to stop, keep to the limits.
    fn look(&mut self, stop: &AtomicBool, monitor: &Monitor) -> Option<Status> {
        monitor.write(self.standing());
        let network = &self.hosts.network;
        let what = if stop.load(Ordering::Relaxed) {
            format!("stopped on request after {} events", self.events)
        } else if !network.buffers.packets.have_room(self.scenario.tree_packets()) {
            crowded(MAX_NUMBER, PACKETS)
        } else if !network.endpoints.connections.have_room() {
            crowded(MAX_CONNECTIONS, "connections where packets may be lost")
        } else if !network.endpoints.connections.have_numbers() {
            crowded(u32::MAX, "packets of a connection where some may be lost")
        } else if self.events == self.scenario.max_events {
            format!("stopped after {} events", self.events)
        } else {
            self.next_look = (self.events + EVENTS_A_LOOK).min(self.scenario.max_events);
            return None;
        };
        Some(self.end(Status::Stopped, what))
    }

    pub(crate) fn standing(&self) -> Standing {
        let lasting = self.jobs.iter().filter(|job| !job.tenant.repeat);
        let (n, done) = lasting
            .fold((0.0, 0.0), |(n, done), job| (n + 1.0, done + job.share_done(&self.hosts)));
        let network = &self.hosts.network;
        let end_ps = self.end_ps.unwrap_or(network.clock.now_ps);
        let (now_ps, hops) = (reported_ps(&self.jobs, end_ps), network.links.hops);
        let looks = self.hosts.mode.n_looks();
        Standing { now_ps, hops, events: self.events, looks, done: done / n }
    }

    /// To solve rates may take longer than thousands of events.
    fn heed_looks(&mut self) -> Option<Status> {
        let looks = self.hosts.mode.n_looks();
        if self.scenario.chosen.most_looks.is_some_and(|most| looks > most) {
            let what = format!("stopped after {looks} looks at flows on links");
            return Some(self.end(Status::Stopped, what));
        }
        if looks - self.looks_heeded >= FLOWS_A_LOOK {
            (self.looks_heeded, self.next_look) = (looks, self.events);
        }
        None
    }

    /// The watchdog looks. It is no work: where it alone is to come, the clock stays.
    fn watch(&mut self, before_ps: u64) -> Option<Status> {
        if self.hosts.network.clock.calendar.is_empty() {
            self.hosts.network.clock.now_ps = before_ps;
            return None;
        }
        if let Some(number) = self.watch.stalled(&self.hosts, &self.jobs) {
            let tenant = match self.scenario.tenants[number].name.as_str() {
                "" => String::new(),
                name => format!(" of tenant '{name}'"),
            };
            let ns = self.scenario.stall_ps / 1000;
            let who = deadlock::describe(&self.hosts, &self.jobs[number..=number]);
            let what = format!("stalled: nothing{tenant} was delivered for {ns} ns: {who}");
            return Some(self.end(Status::Stalled, what));
        }
        let time_ps = self.hosts.network.clock.now_ps + self.watch.period_ps();
        self.hosts.network.clock.schedule_watch(time_ps);
        None
    }

    /// Start every tenant that is due at once; the others have an event.
    fn open(&mut self) {
        for number in 0..self.jobs.len() as u32 {
            match self.scenario.tenants[number as usize].start_ps {
                0 => self.start(number),
                time_ps => self.hosts.network.clock.schedule_cold(time_ps, Cold::Start(number)),
            }
        }
        self.hosts.network.clock.schedule_watch(self.watch.period_ps());
    }

    fn start(&mut self, number: u32) {
        self.jobs[number as usize].start(self.hosts.network.clock.now_ps);
        self.advance(number);
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        let (hosts, port, packet) = (&mut self.hosts, event.port(), event.packet());
        match event.kind() {
            Kind::Credit => hosts.network.credited(port, packet as u8),
            Kind::Arrive => {
                let Network { clock, links, buffers, .. } = &mut hosts.network;
                let q = links.inputs[port as usize];
                let frail = buffers.rules().watched && q.has(FRAIL);
                if frail && lost_on_the_wire(links, buffers, clock, port, packet) {
                } else if q.has(ENDPOINT) {
                    hosts.deliver(port, packet);
                } else if M::OFFLOADS && hosts.network.buffers.packets[packet].is_of_tree() {
                    M::arrive(hosts, port, q, packet);
                } else {
                    hosts.network.arrive(port, q, packet);
                }
            }
            Kind::Kick => hosts.network.kicked(port),
            Kind::Cold => unreachable!("the driver handles them"),
        }
    }

    /// Something rare; how the run ends where it does.
    fn handle_cold(&mut self, cold: Cold, before_ps: u64) -> Option<Status> {
        if cold == Cold::Watch {
            return self.watch(before_ps);
        }
        let hosts = &mut self.hosts;
        hosts.network.clock.n_cold -= 1;
        match cold {
            Cold::Drained(_) | Cold::Come(_) | Cold::Agreed(_) | Cold::Reduced(_) => {
                M::handle(hosts, cold);
            }
            Cold::Solve => {
                M::handle(hosts, cold);
                if let Some(status) = self.heed_looks() {
                    return Some(status);
                }
            }
            Cold::Local(message) => hosts.arrived(message),
            Cold::Sent(rank) => hosts.sent(rank),
            Cold::Rank(rank) => {
                let tenant = self.scenario.ranks[rank as usize].tenant;
                if let Some(stage) = self.jobs[tenant as usize].stage() {
                    hosts.run_rank(stage, rank);
                }
            }
            Cold::Start(tenant) => self.start(tenant),
            Cold::Ready(message) => M::ready(hosts, message),
            // When the work is done, cables stay as they are; new tables still come, for what is
            // left under way may go round in a circle until then.
            Cold::Fault(number)
                if self.end_ps.is_none() || number == sweep_number(self.scenario) =>
            {
                hosts.network.fault(number);
            }
            Cold::Fault(_) => {}
            // No acknowledgement is awaited any more either.
            Cold::Timer(connection) if self.end_ps.is_none() => hosts.timer(connection),
            Cold::Missing(connection) if self.end_ps.is_none() => {
                hosts.look_for_missing(connection)
            }
            Cold::Timer(_) | Cold::Missing(_) => {}
            Cold::Read(port) => hosts.network.read_over(port),
            Cold::Watch => unreachable!("dealt with above"),
        }
        // Faults and probes may go on for ever: when all work is done and received, so is the run.
        let done = self.n_open == 0 && self.hosts.network.buffers.packets.in_flight() == 0;
        done.then_some(Status::Complete)
    }

    /// Heed what ranks report; how the run ends where it does.
    fn take_reports(&mut self) -> Option<Status> {
        let now_ps = self.hosts.network.clock.now_ps;
        for report in std::mem::take(&mut self.hosts.reports) {
            let tenant = self.scenario.ranks[report.rank() as usize].tenant;
            let job = &mut self.jobs[tenant as usize];
            match report {
                Report::Finished(rank) => {
                    job.finished(rank, now_ps - self.hosts.ranks[rank as usize].start_ps);
                    let clock = &mut self.hosts.network.clock;
                    if M::FLOWS {
                        clock.trace_unordered(1 << 32, rank.into());
                    } else {
                        clock.trace(1 << 32, rank.into());
                    }
                }
                Report::Began(_, index) => {
                    job.began(index, now_ps);
                    continue;
                }
                Report::Together(_) => job.waits(),
                Report::Broken(src, dst) => {
                    let what = describe_broken(self.scenario, (src, dst));
                    return Some(self.end(Status::Failed, what));
                }
                Report::Crowded { most, of, .. } => {
                    return Some(self.end(Status::Stopped, crowded(most, of)));
                }
                Report::Message { row, duration_ps, .. } => job.timed(row, duration_ps),
            }
            job.release_ranks(&mut self.hosts);
            self.advance(tenant);
            if self.jobs[tenant as usize].reported_ps(now_ps) > CLOCK_END_PS {
                return Some(self.outlasted());
            }
        }
        None
    }

    /// Let a tenant go to its next iteration if none of its ranks runs.
    fn advance(&mut self, number: u32) {
        let job = &mut self.jobs[number as usize];
        if job.end_ps.is_some() || !job.is_between() {
            return;
        }
        if job.advance(&mut self.hosts, &mut self.outcome, self.n_lasting > 0) {
            return;
        }
        self.n_open -= 1;
        self.n_lasting -= usize::from(!job.tenant.repeat);
        if self.n_open == 0 {
            // Credits still in flight are no work: how many events they take is our affair.
            self.end_ps = Some(self.hosts.network.clock.now_ps);
        }
    }

    pub(crate) fn finish(mut self, status: Status) -> Outcome {
        M::settle_counts(&mut self.hosts);
        let network = &mut self.hosts.network;
        let n_left = network.buffers.packets.in_flight();
        // Where cables die, copies of what has long come may be stuck for ever.
        if status == Status::Complete && !self.scenario.transport.numbered {
            assert_eq!(n_left, 0, "no packet is left behind");
        }
        if matches!(status, Status::Complete | Status::Deadlock) && n_left == 0 {
            assert!(network.buffers.are_whole(&self.scenario.fabric), "credits are conserved");
        }
        self.outcome.status = status;
        self.outcome.fidelity = self.scenario.chosen.fidelity;
        self.outcome.notes = self.scenario.chosen.notes.clone();
        let of_steady = self.outcome.steady.notes();
        self.outcome.notes.extend(of_steady);
        let end_ps = self.end_ps.unwrap_or(network.clock.now_ps);
        self.outcome.end_ps = reported_ps(&self.jobs, end_ps);
        self.outcome.reconnects = network.endpoints.initiators.n_reconnects;
        self.outcome.hops = network.links.hops;
        self.outcome.events = self.events;
        self.outcome.trace_hash = network.clock.trace_hash;
        for job in &self.jobs {
            self.outcome.tenants.push(job.tenant, job.passes, job.end_ps);
        }
        (self.outcome.ports, self.outcome.ports_left_out) =
            port_columns(self.scenario, &network.links, &network.congestion.ports);
        self.outcome.offloads = self.hosts.mode.take_offloads();
        self.outcome.flows = std::mem::take(&mut network.endpoints.flows);
        if let Some(load) = &network.links.load {
            let n_ports = self.scenario.probes.load_ports;
            self.outcome.load = LoadColumns::new(&self.scenario.fabric, load, n_ports);
        }
        self.outcome
    }
}
