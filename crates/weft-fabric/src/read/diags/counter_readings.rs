//! Counters of ports as tools print them; a file may hold several outputs.

use crate::subnet::records::{Gathered, ReadingRecord, Who};
use std::collections::HashMap;

/// Readings of each port of a file so far. An output of another kind adds to the port's
/// reading; one of the same kind again is a later reading.
#[derive(Default)]
pub(crate) struct CounterReadings {
    /// By port: the index of its reading, and the kinds of output in it.
    last: HashMap<(Who, u8), (usize, Vec<String>)>,
}

impl CounterReadings {
    /// Add the counters of an output; where two kinds name one counter, that of 64 bits holds.
    pub(crate) fn add(
        &mut self,
        kind: &str,
        is_wide: bool,
        record: ReadingRecord,
        gathered: &mut Gathered,
    ) {
        let key = (record.who, record.port);
        if let Some((index, kinds)) = self.last.get_mut(&key)
            && !kinds.iter().any(|had| had == kind)
        {
            kinds.push(kind.to_owned());
            let counters = &mut gathered.readings[*index].counters;
            for (name, count) in record.counters {
                if is_wide {
                    counters.insert(name, count);
                } else {
                    counters.entry(name).or_insert(count);
                }
            }
            return;
        }
        self.last.insert(key, (gathered.readings.len(), vec![kind.to_owned()]));
        gathered.readings.push(record);
    }
}
