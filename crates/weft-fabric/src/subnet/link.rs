//! Widths, speeds and states of a link, in the words of the InfiniBand tools.

use crate::units::BitsPerSecond;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How many lanes a link has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Width {
    /// One lane.
    #[serde(rename = "1x")]
    X1,
    /// Two lanes: HDR100, NDR200.
    #[serde(rename = "2x")]
    X2,
    /// Four lanes.
    #[serde(rename = "4x")]
    X4,
    /// Eight lanes.
    #[serde(rename = "8x")]
    X8,
    /// Twelve lanes.
    #[serde(rename = "12x")]
    X12,
}

impl Width {
    const ALL: [Width; 5] = [Width::X1, Width::X2, Width::X4, Width::X8, Width::X12];

    /// How many lanes.
    pub fn lanes(self) -> u32 {
        [1, 2, 4, 8, 12][self as usize]
    }

    /// The width of a number of lanes.
    pub fn of_lanes(lanes: u32) -> Option<Width> {
        Width::ALL.into_iter().find(|width| width.lanes() == lanes)
    }

    /// The width of a word: '4x', '4X' or '4'.
    pub fn from_word(word: &str) -> Option<Width> {
        Width::of_lanes(word.strip_suffix(['x', 'X']).unwrap_or(word).parse().ok()?)
    }

    /// The widest of those in a mask of PortInfo's LinkWidthSupported.
    ///
    /// SOURCE: InfiniBand Architecture Specification vol. 1, PortInfo: 1 is 1x, 2 is 4x, 4 is 8x,
    /// 8 is 12x, 16 is 2x.
    pub fn widest_of(mask: u32) -> Option<Width> {
        let bits =
            [(1, Width::X1), (16, Width::X2), (2, Width::X4), (4, Width::X8), (8, Width::X12)];
        bits.into_iter().rev().find(|(bit, _)| mask & bit != 0).map(|(_, width)| width)
    }
}

impl fmt::Display for Width {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}x", self.lanes())
    }
}

/// The generation of a link's signalling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[allow(missing_docs)] // The field's own names.
pub enum Speed {
    Sdr,
    Ddr,
    Qdr,
    Fdr10,
    Fdr,
    Edr,
    Hdr,
    Ndr,
    Xdr,
}

/// Speeds, slowest first: name, signalling rate of a lane in Gb/s, and its data rate in bits a
/// second: 8b/10b up to QDR, 64b/66b above; what FEC takes of HDR and faster is not counted, as in
/// the products' names.
///
/// SOURCE: infiniband.jp, table of InfiniBand rates (2022); XDR is twice NDR, unverified.
const SPEEDS: [(Speed, &str, f64, Ratio); 9] = [
    (Speed::Sdr, "SDR", 2.5, (2_000_000_000, 1)),
    (Speed::Ddr, "DDR", 5.0, (4_000_000_000, 1)),
    (Speed::Qdr, "QDR", 10.0, (8_000_000_000, 1)),
    (Speed::Fdr10, "FDR10", 10.3125, (10_000_000_000, 1)),
    (Speed::Fdr, "FDR", 14.0625, (14_062_500_000 * 64, 66)),
    (Speed::Edr, "EDR", 25.78125, (25_000_000_000, 1)),
    (Speed::Hdr, "HDR", 53.125, (50_000_000_000, 1)),
    (Speed::Ndr, "NDR", 106.25, (100_000_000_000, 1)),
    (Speed::Xdr, "XDR", 212.5, (200_000_000_000, 1)),
];

/// Numerator and denominator.
type Ratio = (u64, u64);

impl Speed {
    /// All of them, slowest first.
    pub fn all() -> impl Iterator<Item = Speed> + Clone {
        SPEEDS.into_iter().map(|(speed, ..)| speed)
    }

    /// The speed's name.
    pub fn name(self) -> &'static str {
        SPEEDS[self as usize].1
    }

    /// The speed of a name, in any case of letters.
    pub fn from_word(word: &str) -> Option<Speed> {
        Speed::all().find(|speed| speed.name().eq_ignore_ascii_case(word))
    }

    /// The speed whose lane is signalled nearest to so many Gb/s: the tools print 14.0625,
    /// 25.78125, 53.125 (or 25, 50).
    pub fn of_lane_gbps(gbps: f64) -> Option<Speed> {
        let near = |speed: &Speed| (SPEEDS[*speed as usize].2 / gbps - 1.0).abs() < 0.08;
        Speed::all().filter(|speed| *speed != Speed::Fdr10).find(near)
    }

    /// The speed of a name, or of so many Gb/s of a lane: 'FDR10', '2.5', '14', '25', '100'.
    pub fn of_lane(word: &str) -> Option<Speed> {
        Speed::from_word(word).or_else(|| Speed::of_lane_gbps(word.parse().ok()?))
    }

    /// Data rate of `width` lanes.
    pub fn data_rate(self, width: Width) -> BitsPerSecond {
        let (numerator, denominator) = SPEEDS[self as usize].3;
        BitsPerSecond(u64::from(width.lanes()) * numerator / denominator)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Width and speed together: '4xHDR'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LinkRate {
    /// Lanes.
    pub width: Width,
    /// Signalling of each.
    pub speed: Speed,
}

impl LinkRate {
    /// Data rate of a direction.
    pub fn data_rate(self) -> BitsPerSecond {
        self.speed.data_rate(self.width)
    }

    /// The rate of a word such as '4xHDR'.
    pub fn from_word(word: &str) -> Option<LinkRate> {
        let end = word.find(['x', 'X'])?;
        let (width, speed) = (Width::from_word(&word[..end])?, Speed::from_word(&word[end + 1..])?);
        Some(LinkRate { width, speed })
    }
}

impl fmt::Display for LinkRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.width, self.speed)
    }
}

/// PortInfo's PortState.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // The specification's own names.
pub enum LogicalState {
    Down,
    Init,
    Armed,
    Active,
}

/// PortInfo's PortPhysicalState.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // The specification's own names.
pub enum PhysicalState {
    Sleep,
    Polling,
    Disabled,
    Training,
    LinkUp,
    ErrorRecovery,
    PhyTest,
}

impl LogicalState {
    /// The state of a word: 'Active', 'ACT', 'Initialize', 'Init', 'INI', 'Armed', 'Down'.
    pub fn from_word(word: &str) -> Option<LogicalState> {
        match word.to_ascii_lowercase().as_str() {
            "down" | "dwn" => Some(LogicalState::Down),
            "init" | "ini" | "initialize" | "initializing" => Some(LogicalState::Init),
            "armed" | "arm" => Some(LogicalState::Armed),
            "active" | "act" => Some(LogicalState::Active),
            _ => None,
        }
    }

    /// The state of PortInfo's number; none for "no change".
    pub fn of_number(number: u32) -> Option<LogicalState> {
        use LogicalState::*;
        let states = [Down, Init, Armed, Active];
        states.get((number as usize).checked_sub(1)?).copied()
    }
}

impl PhysicalState {
    /// The state of a word: 'LinkUp', 'Polling', 'Disabled' ...
    pub fn from_word(word: &str) -> Option<PhysicalState> {
        match word.to_ascii_lowercase().as_str() {
            "sleep" => Some(PhysicalState::Sleep),
            "polling" => Some(PhysicalState::Polling),
            "disabled" => Some(PhysicalState::Disabled),
            "training" | "portconfigurationtraining" => Some(PhysicalState::Training),
            "linkup" | "link_up" => Some(PhysicalState::LinkUp),
            "linkerrorrecovery" | "linkerror" | "errorrecovery" => {
                Some(PhysicalState::ErrorRecovery)
            }
            "phytest" | "phy_test" => Some(PhysicalState::PhyTest),
            _ => None,
        }
    }

    /// The state of PortInfo's number; none for "no change".
    pub fn of_number(number: u32) -> Option<PhysicalState> {
        use PhysicalState::*;
        let states = [Sleep, Polling, Disabled, Training, LinkUp, ErrorRecovery, PhyTest];
        states.get((number as usize).checked_sub(1)?).copied()
    }
}
