//! A job whose phases are surveyed: sizes in place of iterations, and the time that rows report.

use crate::host::stage::Stage;
use crate::model::placement::place::Tenant;
use crate::model::scenario::ValidScenario;
use crate::run::job::Job;
use crate::run::survey::{Survey, SurveyResult};
use crate::state::columns::outcome::{Outcome, SteadyColumns, SteadyRow};
use weft_traffic::Phase;

/// The time that rows report: in it, what was skipped has passed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowClock {
    own_ps: u64,
    pub(crate) reported_ps: u64,
}

impl RowClock {
    pub(crate) fn reported(self, now_ps: u64) -> u64 {
        self.reported_ps.saturating_add(now_ps - self.own_ps)
    }

    /// The same clock, which reads `reported_ps` now.
    fn set(now_ps: u64, reported_ps: u64) -> RowClock {
        RowClock { own_ps: now_ps, reported_ps }
    }
}

/// The phase at the size that a survey wants to see next.
fn surveyed(tenant: &Tenant, phase: Phase, survey: &Survey) -> Stage {
    let stage = Stage::new(tenant, phase.with_size(survey.next_bytes()));
    let n_members = stage.members().len() as u32;
    Stage { pace: survey.pace().map(|pace| pace.of_members(n_members)), ..stage }
}

impl Job<'_> {
    /// Where what repeats itself may be skipped, do so or say why not.
    pub(crate) fn open_survey(
        &mut self,
        scenario: &ValidScenario,
        steady: &mut SteadyColumns,
        now_ps: u64,
    ) {
        let Some(rule) = scenario.steady.filter(|_| self.passes == 0) else { return };
        let stage = self.stage.take().expect("just opened");
        match Survey::new(scenario, rule, &stage.phase) {
            Ok(survey) => {
                self.clock = RowClock::set(now_ps, self.reported_ps(now_ps));
                self.stage = Some(surveyed(self.tenant, stage.phase, &survey));
                self.survey = Some(survey);
            }
            Err(whole_because) => {
                steady.push(SteadyRow {
                    tenant: self.number,
                    step: stage.phase.step,
                    round: stage.phase.round,
                    size_bytes: stage.phase.size_bytes(),
                    moves: 0,
                    share: 1.0,
                    error: 0.0,
                    whole_because,
                });
                self.stage = Some(stage);
            }
        }
    }

    /// The next size that a survey wants to see; none when it has found what the phase takes.
    pub(crate) fn next_size(
        &mut self,
        mut survey: Survey,
        stage: Stage,
        now_ps: u64,
        outcome: &mut Outcome,
    ) -> Option<Stage> {
        let mut times_ps = std::mem::take(&mut self.durations_ps);
        times_ps.push(now_ps - stage.start_ps);
        if let Some(found) = survey.timed(times_ps, stage.pace.as_ref()) {
            if found.whole {
                return self.go_on_whole(stage, found, outcome);
            }
            self.write_found(&stage.phase, &found, now_ps, outcome);
            return None;
        }
        let stage = surveyed(self.tenant, stage.phase, &survey);
        self.survey = Some(survey);
        Some(stage)
    }

    /// Every iteration of a phase takes what was found; that much time has passed.
    fn write_found(
        &mut self,
        phase: &Phase,
        found: &SurveyResult,
        now_ps: u64,
        outcome: &mut Outcome,
    ) {
        let (whole_ps, rows_ps) = found.times_ps.split_last().expect("the whole comes last");
        let n_iterations = phase.warmup + phase.iterations;
        let mut start_ps = self.clock.reported_ps;
        for iteration in 0..n_iterations {
            self.iteration = iteration;
            self.write_rows(phase, start_ps, rows_ps, &mut outcome.rows);
            start_ps = start_ps.saturating_add(*whole_ps);
        }
        self.clock = RowClock::set(now_ps, start_ps);
        let share = found.share / f64::from(n_iterations);
        self.write_steady(phase, found, share, &mut outcome.steady);
    }

    /// Nothing was steady: what has just run is the first iteration, and the others follow.
    fn go_on_whole(
        &mut self,
        stage: Stage,
        found: SurveyResult,
        outcome: &mut Outcome,
    ) -> Option<Stage> {
        let n_iterations = f64::from(stage.phase.warmup + stage.phase.iterations);
        let share = (found.share + n_iterations - 1.0) / n_iterations;
        self.write_steady(&stage.phase, &found, share, &mut outcome.steady);
        self.clock = RowClock::set(stage.start_ps, self.clock.reported_ps);
        self.durations_ps = found.times_ps;
        self.durations_ps.pop();
        self.next_iteration(Stage { pace: None, ..stage }, &mut outcome.rows, true)
    }

    fn write_steady(
        &self,
        phase: &Phase,
        found: &SurveyResult,
        share: f64,
        steady: &mut SteadyColumns,
    ) {
        let whole_because = if found.whole { "its moves differ, and so do its sizes" } else { "" };
        steady.push(SteadyRow {
            tenant: self.number,
            step: phase.step,
            round: phase.round,
            size_bytes: found.size_bytes,
            moves: found.moves,
            share,
            error: found.error,
            whole_because,
        });
    }
}
