//! Times and rates of laws where a document leaves them out.

use crate::error::SimError;
use crate::limits::{MIN_BITS_PER_S, ps, within};
use weft_fabric::{Fabric, HcaId};

/// The link that usual times and rates are given for.
const LINK_BITS_PER_S: u64 = 200_000_000_000;

/// Usual times and rates, scaled to the links of a fabric's hosts: as many packets pass in a time,
/// and a rate is the same part of the link's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual {
    /// The median of all hosts' links: one bad cable changes nothing for the others.
    link_bits_per_s: u64,
}

impl Usual {
    pub(crate) fn of(fabric: &Fabric) -> Usual {
        let ports = (0..fabric.n_hcas()).map(|hca| fabric.hca_port(HcaId(hca)));
        let mut rates: Vec<u64> = ports
            .map(|port| fabric.ports[port.0 as usize].rate.0)
            .filter(|rate| *rate > 0)
            .collect();
        let median = rates.len() / 2;
        let link_bits_per_s = match rates.get(median) {
            Some(_) => *rates.select_nth_unstable(median).1,
            None => LINK_BITS_PER_S,
        };
        Usual { link_bits_per_s }
    }

    /// The time of a key as written, or the usual one.
    pub(crate) fn ps(
        self,
        (place, key): (&str, &str),
        written_ns: Option<f64>,
        usual_ns: u64,
    ) -> Result<u64, SimError> {
        let Some(written_ns) = written_ns else {
            let scaled = u128::from(usual_ns * 1000) * u128::from(LINK_BITS_PER_S)
                / u128::from(self.link_bits_per_s);
            return Ok(scaled.max(1) as u64);
        };
        ps(&format!("{place}.{key}"), written_ns)
    }

    /// As [`Usual::ps`], of a time that cannot be 0.
    pub(crate) fn some_ps(
        self,
        (place, key): (&str, &str),
        written_ns: Option<f64>,
        usual_ns: u64,
    ) -> Result<u64, SimError> {
        match self.ps((place, key), written_ns, usual_ns)? {
            0 => Err(SimError::document(format!("{place}.{key}"), "it is 0", "more than 0")),
            ps => Ok(ps),
        }
    }

    /// The rate of a key as written, or the usual one.
    pub(crate) fn bits_per_s(
        self,
        (place, key): (&str, &str),
        written: Option<u64>,
        usual: u64,
    ) -> Result<u64, SimError> {
        let Some(written) = written else {
            let scaled =
                u128::from(usual) * u128::from(self.link_bits_per_s) / u128::from(LINK_BITS_PER_S);
            return Ok(scaled.max(1) as u64);
        };
        within(place, key, written, MIN_BITS_PER_S, MAX_BITS_PER_S)?;
        Ok(written)
    }
}

/// Largest rate of a knob: 8 Tb/s, as of a cable.
const MAX_BITS_PER_S: u64 = 8_000_000_000_000;

/// A packet that a queue pair sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) now_ps: u64,
    /// How long the queue pair might have sent it before.
    pub(crate) idle_ps: u64,
    pub(crate) bytes: u32,
    /// How long it occupies its link.
    pub(crate) duration_ps: u64,
    pub(crate) link_bits_per_s: u64,
}

impl Sent {
    /// How long beyond its own time its queue pair waits that may use this share of its link.
    pub(crate) fn delay_ps(self, share: f64) -> u64 {
        if share >= 1.0 {
            return 0;
        }
        (self.duration_ps as f64 * (1.0 / share - 1.0)).round() as u64
    }
}

/// Refuse a share that is not above 0 and up to 1.
pub(crate) fn within_share(place: &str, key: &str, value: f64) -> Result<(), SimError> {
    if value > 0.0 && value <= 1.0 {
        return Ok(());
    }
    let place = format!("{place}.{key}");
    Err(SimError::document(place, format!("it is {value}"), "above 0, up to 1"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{LINK_BITS_PER_S, Usual};
    use crate::congestion::Surroundings;

    /// Of a law whose place is called "here".
    pub(crate) const HERE: Surroundings<'static> = Surroundings {
        place: "here",
        usual: Usual { link_bits_per_s: LINK_BITS_PER_S },
        buffer_bytes: 1 << 17,
        inside: false,
        detours: false,
        of_level: &[0; 16],
    };

    #[test]
    fn usual_values_scale_with_the_link_and_written_ones_do_not() {
        let slow = Usual { link_bits_per_s: 25_000_000_000 };
        let at = ("here", "hold_ns");
        assert_eq!(slow.ps(at, None, 1_000), Ok(8_000_000), "as many packets pass");
        assert_eq!(slow.ps(at, Some(1_000.0), 7), Ok(1_000_000));
        assert_eq!(slow.bits_per_s(at, None, 400_000_000), Ok(50_000_000), "an eighth as fast");
        assert_eq!(slow.bits_per_s(at, Some(400_000_000), 7), Ok(400_000_000));
    }
}
