//! A job: the phases of a tenant one after the other, each iteration after an ideal barrier of the
//! ranks that take part.

mod phase_survey;

use crate::host::hosts::Hosts;
use crate::host::mode::Mode;
use crate::host::stage::Stage;
use crate::model::placement::place::Tenant;
use crate::run::job::phase_survey::RowClock;
use crate::run::survey::Survey;
use crate::state::columns::outcome::{Outcome, Row, RowColumns};
use weft_traffic::{Phase, Rows};

/// Where a tenant stands in its work.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) tenant: &'a Tenant,
    number: u32,
    stage: Option<Stage>,
    /// Step and round of the phase that comes next.
    next: (u32, u32),
    iteration: u32,
    n_begun: u64,
    /// Times the whole work has been done.
    pub(crate) passes: u32,
    pass_start_ps: u64,
    /// Ranks that have not finished the iteration, and those of them that wait for the others.
    n_running: u32,
    n_together: u32,
    /// Durations of the iteration's rows so far.
    durations_ps: Vec<u64>,
    /// How what the phase takes is found, where not all of it is simulated.
    survey: Option<Survey>,
    clock: RowClock,
    /// When it was done.
    pub(crate) end_ps: Option<u64>,
}

impl<'a> Job<'a> {
    pub(crate) fn new(tenant: &'a Tenant, number: u32) -> Job<'a> {
        Job {
            tenant,
            number,
            stage: None,
            next: (0, 0),
            iteration: 0,
            n_begun: 0,
            passes: 0,
            pass_start_ps: 0,
            n_running: 0,
            n_together: 0,
            durations_ps: Vec::new(),
            survey: None,
            clock: RowClock::default(),
            end_ps: None,
        }
    }

    /// The present step of its ranks; none before its start and after its end.
    pub(crate) fn stage(&self) -> Option<&Stage> {
        self.stage.as_ref()
    }

    /// How many iterations it has begun.
    pub(crate) fn n_begun(&self) -> u64 {
        self.n_begun
    }

    /// Whether no rank runs, so that the next iteration may begin.
    pub(crate) fn is_between(&self) -> bool {
        self.n_running == 0
    }

    /// A rank has finished the iteration, `duration_ps` after it began.
    pub(crate) fn finished(&mut self, number: u32, duration_ps: u64) {
        self.n_running -= 1;
        let stage = self.stage.as_ref().expect("only a stage has ranks that report");
        if let Some(row) = stage.phase.timed_row(number - stage.first_rank) {
            let slot = &mut self.durations_ps[row as usize];
            *slot = (*slot).max(duration_ps);
        }
    }

    /// A message that has a row of its own took `duration_ps`; or a rank has passed a mark so long
    /// after the iteration began, and the last one counts.
    pub(crate) fn timed(&mut self, row: u32, duration_ps: u64) {
        let slot = &mut self.durations_ps[row as usize];
        *slot = (*slot).max(duration_ps);
    }

    /// A rank begins its `index`-th move.
    pub(crate) fn began(&mut self, index: u64, now_ps: u64) {
        let stage = self.stage.as_mut().expect("only a stage has ranks that report");
        if let Some(pace) = &mut stage.pace {
            pace.begun(index, now_ps);
        }
    }

    /// The time that rows report.
    pub(crate) fn reported_ps(&self, now_ps: u64) -> u64 {
        self.clock.reported(now_ps)
    }

    /// A rank waits until all have come as far.
    pub(crate) fn waits(&mut self) {
        self.n_together += 1;
    }

    /// Let the ranks that wait for each other go on, if all that run have come.
    pub(crate) fn release_ranks<M: Mode<PLAIN>, const PLAIN: bool>(
        &mut self,
        hosts: &mut Hosts<'_, M, PLAIN>,
    ) {
        if self.n_together == 0 || self.n_together < self.n_running {
            return;
        }
        self.n_together = 0;
        let stage = self.stage.as_ref().expect("only a stage has ranks that wait");
        for number in stage.members() {
            hosts.go_on(*number);
        }
    }

    /// Begin the next iteration now, as long as there is one with ranks that take part. A tenant
    /// that repeats its work does so while `go_on` holds. False when all is done.
    pub(crate) fn advance<M: Mode<PLAIN>, const PLAIN: bool>(
        &mut self,
        hosts: &mut Hosts<'_, M, PLAIN>,
        outcome: &mut Outcome,
        go_on: bool,
    ) -> bool {
        let now_ps = hosts.network.clock.now_ps;
        while self.is_between() {
            if let Some(stage) = self.stage.take() {
                self.stage = match self.survey.take() {
                    Some(survey) => self.next_size(survey, stage, now_ps, outcome),
                    None => self.next_iteration(stage, &mut outcome.rows, go_on),
                };
                if self.stage.is_none() {
                    hosts.mode.step_is_over(self.number);
                }
            }
            if self.stage.is_none() && !self.open_next_phase(hosts, outcome, go_on) {
                self.end_ps = Some(self.reported_ps(now_ps));
                return false;
            }
            let stage = self.stage.as_mut().expect("just opened");
            stage.start_ps = now_ps;
            self.n_begun += 1;
            self.durations_ps.clear();
            self.durations_ps.resize(stage.phase.n_rows() as usize, 0);
            self.n_running = hosts.begin(stage);
        }
        true
    }

    fn next_iteration(
        &mut self,
        stage: Stage,
        rows: &mut RowColumns,
        go_on: bool,
    ) -> Option<Stage> {
        let start_ps = self.reported_ps(stage.start_ps);
        self.write_rows(&stage.phase, start_ps, &self.durations_ps, rows);
        self.iteration += 1;
        let n_iterations = stage.phase.warmup + stage.phase.iterations;
        (self.iteration < n_iterations && (go_on || !self.tenant.repeat)).then_some(stage)
    }

    fn open_next_phase<M: Mode<PLAIN>, const PLAIN: bool>(
        &mut self,
        hosts: &mut Hosts<'_, M, PLAIN>,
        outcome: &mut Outcome,
        go_on: bool,
    ) -> bool {
        let now_ps = hosts.network.clock.now_ps;
        loop {
            if self.tenant.repeat && !go_on {
                return false;
            }
            if self.open_phase(hosts) {
                self.open_survey(hosts.network.scenario, &mut outcome.steady, now_ps);
                return true;
            }
            self.passes += 1;
            // Work that takes no time would be repeated for ever at one instant.
            if !self.tenant.repeat || self.pass_start_ps == now_ps {
                return false;
            }
            (self.next, self.pass_start_ps) = ((0, 0), now_ps);
        }
    }

    fn open_phase<M: Mode<PLAIN>, const PLAIN: bool>(
        &mut self,
        hosts: &mut Hosts<'_, M, PLAIN>,
    ) -> bool {
        let (mut step, mut round) = self.next;
        while let Some(document) = self.tenant.work.get(step as usize) {
            if round < document.n_phases() {
                let phase = document.phase("work", step, round, self.tenant.n_ranks);
                let phase = phase.expect("work was checked before the run");
                let phase = M::with_switches(hosts, self.number, phase);
                self.stage = Some(Stage::new(self.tenant, phase));
                self.next = (step, round + 1);
                self.iteration = 0;
                return true;
            }
            (step, round) = (step + 1, 0);
        }
        self.next = (step, 0);
        false
    }

    fn write_rows(
        &self,
        phase: &Phase,
        start_ps: u64,
        durations_ps: &[u64],
        rows: &mut RowColumns,
    ) {
        let Some(iteration) = self.iteration.checked_sub(phase.warmup) else {
            return;
        };
        let mut before_ps = 0;
        for (row, passed_ps) in durations_ps.iter().enumerate() {
            let (own_start, duration_ps) = match phase.rows {
                Rows::Message => (phase.message_start(row as u32).unwrap_or(0), *passed_ps),
                Rows::Interval => {
                    let since_ps = std::mem::replace(&mut before_ps, *passed_ps);
                    (since_ps, passed_ps.saturating_sub(since_ps))
                }
                Rows::Whole | Rows::Pair => (0, *passed_ps),
            };
            let row = Row {
                tenant: self.number,
                step: phase.step,
                pair: row as u32,
                round: phase.round,
                iteration: self.passes.saturating_mul(phase.iterations).saturating_add(iteration),
                start_ps: start_ps + own_start,
                duration_ps,
            };
            if self.passes == 0 { rows.push(row) } else { rows.push_repeated(row) }
        }
    }

    /// It begins now.
    pub(crate) fn start(&mut self, now_ps: u64) {
        self.pass_start_ps = now_ps;
    }

    /// The part of its work that is done, from 0 to 1; by the iterations of its steps, each worth
    /// the same, and the moves of one rank within an iteration.
    pub(crate) fn share_done<M: Mode<PLAIN>, const PLAIN: bool>(
        &self,
        hosts: &Hosts<'_, M, PLAIN>,
    ) -> f64 {
        if self.end_ps.is_some() {
            return 1.0;
        }
        let Some(stage) = &self.stage else { return 0.0 };
        let work = &self.tenant.work;
        let n_phases: u32 = work.iter().map(|step| step.n_phases()).sum();
        let before: u32 = work[..stage.phase.step as usize].iter().map(|s| s.n_phases()).sum();
        let of_iteration = stage
            .members
            .first()
            .map_or(0.0, |number| stage.share_done(*number, hosts.ranks[*number as usize].index));
        let n_iterations = f64::from(stage.phase.warmup + stage.phase.iterations);
        let of_phase = (f64::from(self.iteration) + of_iteration) / n_iterations;
        (f64::from(before + stage.phase.round) + of_phase) / f64::from(n_phases)
    }
}
