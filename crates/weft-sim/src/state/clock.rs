//! The clock: what time it is, and what is due.

use crate::state::calendar::{Calendar, Cold, Event, Kind};

/// The time of the event that is handled, and the events to come.
#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) now_ps: u64,
    pub(crate) calendar: Calendar,
    /// Cold events that are due but for the watchdog's, and how many of them are faults.
    pub(crate) n_cold: u32,
    pub(crate) n_faults_due: u32,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { now_ps: 0, calendar: Calendar::new(), n_cold: 0, n_faults_due: 0 }
    }

    #[inline]
    pub(crate) fn schedule(&mut self, time_ps: u64, kind: Kind, port: u32, packet: u32) {
        self.calendar.push(Event::new(time_ps, kind, port, packet));
    }

    /// Let the watchdog look at `time_ps`. It is nothing that is due: who asks whether anything is
    /// still to come does not count it.
    pub(crate) fn schedule_watch(&mut self, time_ps: u64) {
        self.calendar.push(Event::cold(time_ps, Cold::Watch));
    }

    pub(crate) fn schedule_cold(&mut self, time_ps: u64, cold: Cold) {
        self.n_cold += 1;
        self.calendar.push(Event::cold(time_ps, cold));
    }
}
