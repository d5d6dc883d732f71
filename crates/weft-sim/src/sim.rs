//! The simulation: phases one after the other, iterations after an ideal barrier.

use crate::calendar::{CLOCK_END_PS, Cold, Event, Kind};
use crate::counters::PortColumns;
use crate::deadlock;
use crate::hosts::{Hosts, Report};
use crate::network::Network;
use crate::outcome::{Outcome, Status};
use crate::port::{ENDPOINT, FRAIL};
use crate::probe::LoadColumns;
use crate::scenario::ValidScenario;
use std::sync::atomic::{AtomicBool, Ordering};
use weft_traffic::{Phase, Rows};

/// How many events pass between two looks at the stop flag.
const EVENTS_A_LOOK: u64 = 1 << 14;

/// Run a scenario to its end, a deadlock or its limit of events.
pub fn simulate(scenario: &ValidScenario) -> Outcome {
    simulate_until(scenario, &AtomicBool::new(false))
}

/// Run a scenario as [`simulate`] does, until somebody sets `stop`: the outcome is then `stopped`,
/// and what was timed by then is in its rows.
pub fn simulate_until(scenario: &ValidScenario, stop: &AtomicBool) -> Outcome {
    let mut sim = Sim::new(scenario);
    let status = sim.run(stop);
    sim.finish(status)
}

struct Sim<'a> {
    scenario: &'a ValidScenario,
    hosts: Hosts<'a>,
    outcome: Outcome,
    events: u64,
    clock_ended: bool,
    /// The ranks whose connection is broken.
    broken: Option<(u32, u32)>,
    phase: Option<Phase>,
    /// Step and round of the phase that comes next.
    next: (u32, u32),
    iteration: u32,
    n_running: u32,
    iteration_start_ps: u64,
    /// When all work was done.
    end_ps: Option<u64>,
    /// Durations of the iteration's rows so far.
    durations_ps: Vec<u64>,
}

impl<'a> Sim<'a> {
    fn new(scenario: &'a ValidScenario) -> Sim<'a> {
        Sim {
            scenario,
            hosts: Hosts::new(Network::new(scenario)),
            outcome: Outcome::default(),
            events: 0,
            clock_ended: false,
            broken: None,
            phase: None,
            next: (0, 0),
            iteration: 0,
            n_running: 0,
            iteration_start_ps: 0,
            end_ps: None,
            durations_ps: Vec::new(),
        }
    }

    fn run(&mut self, stop: &AtomicBool) -> Status {
        self.advance();
        while let Some(event) = self.hosts.network.calendar.pop() {
            let asked = self.events.is_multiple_of(EVENTS_A_LOOK) && stop.load(Ordering::Relaxed);
            if asked || self.events == self.scenario.max_events {
                return Status::Stopped;
            }
            if event.time_ps > CLOCK_END_PS {
                self.clock_ended = true;
                return Status::Stopped;
            }
            self.events += 1;
            self.hosts.network.now_ps = event.time_ps;
            if self.hosts.network.rules.look_ahead {
                self.hosts.network.look_ahead();
            }
            self.handle(event);
            if !self.hosts.reports.is_empty() {
                self.take_reports();
                if self.broken.is_some() {
                    return Status::Failed;
                }
                self.advance();
            }
        }
        if self.phase.is_some() { Status::Deadlock } else { Status::Complete }
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        let (hosts, port) = (&mut self.hosts, event.port());
        match event.kind() {
            Kind::Credit => hosts.network.credited(port, event.packet() as u8),
            Kind::Arrive => {
                let q = &hosts.network.ports[port as usize];
                if q.has(FRAIL) && hosts.network.lost_on_the_way(port, event.packet()) {
                } else if hosts.network.ports[port as usize].has(ENDPOINT) {
                    hosts.deliver(port, event.packet());
                } else {
                    hosts.network.arrive(port, event.packet());
                }
            }
            Kind::Kick => hosts.network.kicked(port),
            Kind::Cold => self.handle_cold(event.what()),
        }
    }

    fn handle_cold(&mut self, cold: Cold) {
        let hosts = &mut self.hosts;
        hosts.network.n_cold -= u32::from(cold != Cold::Watch);
        match cold {
            Cold::Local(message) => hosts.arrived(message),
            Cold::Sent(rank) => hosts.sent(rank),
            Cold::Rank(rank) => {
                if let Some(phase) = &self.phase {
                    hosts.run_rank(phase, rank);
                }
            }
            Cold::Ready(message) => hosts.network.ready(message),
            // When the work is done, cables stay as they are.
            Cold::Fault(number) if self.end_ps.is_none() => hosts.network.fault(number),
            Cold::Fault(_) => {}
            // Nor does anybody wait for an acknowledgement any more.
            Cold::Timer(connection) if self.end_ps.is_none() => hosts.timer(connection),
            Cold::Timer(_) => {}
            Cold::Read(port) => hosts.network.read_over(port),
            Cold::Probe | Cold::Watch => {
                unreachable!("nobody schedules them yet")
            }
        }
    }

    fn take_reports(&mut self) {
        let phase = self.phase.as_ref().expect("only a phase has ranks that report");
        for report in std::mem::take(&mut self.hosts.reports) {
            match report {
                Report::Finished(number) => {
                    self.n_running -= 1;
                    let rank = &self.hosts.ranks[number as usize];
                    let duration_ps = self.hosts.network.now_ps - rank.start_ps;
                    if let Some(row) = phase.timed_row(number) {
                        let slot = &mut self.durations_ps[row as usize];
                        *slot = (*slot).max(duration_ps);
                    }
                    self.hosts.network.trace([self.hosts.network.now_ps, 1 << 32, number.into()]);
                }
                Report::Broken(src, dst) => self.broken = Some((src, dst)),
                Report::Message(row, start_ps, end_ps) => {
                    self.durations_ps[row as usize] = end_ps - start_ps;
                }
            }
        }
    }

    /// Go to the next iteration or phase as long as nobody runs.
    fn advance(&mut self) {
        while self.n_running == 0 {
            if let Some(phase) = self.phase.take() {
                self.write_rows(&phase);
                self.iteration += 1;
                if self.iteration < phase.warmup + phase.iterations {
                    self.phase = Some(phase);
                }
            }
            if self.phase.is_none() && !self.open_next_phase() {
                // Credits still on their way are no work: how many events they take is our affair.
                self.end_ps.get_or_insert(self.hosts.network.now_ps);
                return;
            }
            let phase = self.phase.as_ref().expect("just opened");
            self.iteration_start_ps = self.hosts.network.now_ps;
            self.durations_ps.clear();
            self.durations_ps.resize(phase.n_rows() as usize, 0);
            self.n_running = self.hosts.begin(phase);
        }
    }

    fn open_next_phase(&mut self) -> bool {
        let (mut step, mut round) = self.next;
        while let Some(document) = self.scenario.tenants[0].work.get(step as usize) {
            if round < document.n_phases() {
                let n_ranks = self.scenario.ranks.len() as u32;
                let phase = document.phase(&format!("work[{step}]"), step, round, n_ranks);
                self.phase = Some(phase.expect("work was checked before the run"));
                self.next = (step, round + 1);
                self.iteration = 0;
                return true;
            }
            (step, round) = (step + 1, 0);
        }
        self.next = (step, 0);
        false
    }

    fn write_rows(&mut self, phase: &Phase) {
        let Some(iteration) = self.iteration.checked_sub(phase.warmup) else {
            return;
        };
        for (row, duration_ps) in self.durations_ps.iter().enumerate() {
            let rows = &mut self.outcome.rows;
            rows.step.push(phase.step);
            rows.pair.push(row as u32);
            rows.round.push(phase.round);
            rows.iteration.push(iteration);
            let own_start = (phase.rows == Rows::Message)
                .then(|| phase.message_start(row as u32))
                .flatten()
                .unwrap_or(0);
            rows.start_ps.push(self.iteration_start_ps + own_start);
            rows.duration_ps.push(*duration_ps);
        }
    }

    fn finish(mut self, status: Status) -> Outcome {
        let network = &mut self.hosts.network;
        if status == Status::Complete {
            assert_eq!(network.packets.in_flight(), 0, "no packet is left behind");
        }
        if status == Status::Complete
            || status == Status::Deadlock && network.packets.in_flight() == 0
        {
            assert!(network.is_whole(), "credits are conserved");
        }
        self.outcome.message = match status {
            Status::Complete => String::new(),
            Status::Stopped if self.clock_ended => {
                "stopped: more than 53 days of simulated time".to_owned()
            }
            Status::Stopped => format!("stopped after {} events", self.events),
            Status::Deadlock => deadlock::describe(network),
            Status::Failed => network.describe_broken(self.broken.expect("what failed")),
        };
        self.outcome.status = status;
        self.outcome.end_ps = self.end_ps.unwrap_or(network.now_ps);
        self.outcome.hops = network.hops;
        self.outcome.events = self.events;
        self.outcome.trace_hash = network.trace_hash;
        (self.outcome.ports, self.outcome.ports_left_out) = PortColumns::new(network);
        self.outcome.flows = std::mem::take(&mut network.flows);
        if let Some(load) = &network.load {
            let n_ports = self.scenario.probes.load_ports;
            self.outcome.load = LoadColumns::new(&self.scenario.fabric, load, n_ports);
        }
        self.outcome
    }
}
