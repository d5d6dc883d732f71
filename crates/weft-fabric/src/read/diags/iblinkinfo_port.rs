//! A port's line of `iblinkinfo`.

use crate::read::cursor::{Cursor, kind_of};
use crate::subnet::Kind;
use crate::subnet::link::{LinkRate, LogicalState, PhysicalState, Speed, Width};

/// `Switch: 0x506b4b0300000140 MF0;leaf003:MQM8700/U1:` or `CA: c104-004 HCA-1:`.
pub(crate) struct Heading<'a> {
    pub(crate) kind: Kind,
    /// Of a switch.
    pub(crate) guid: Option<u64>,
    pub(crate) description: &'a str,
}

impl Heading<'_> {
    pub(crate) fn of(line: &str) -> Option<Heading<'_>> {
        let mut cursor = Cursor::new(line.trim_end().strip_suffix(':')?);
        let kind = kind_of(cursor.until(": ")?)?;
        let guid = if cursor.tail.starts_with("0x") {
            let guid = cursor.hex()?;
            cursor.tag(" ")?;
            Some(guid)
        } else {
            None
        };
        let is_whole = guid.is_some() || kind != Kind::Switch;
        is_whole.then_some(Heading { kind, guid, description: cursor.tail })
    }
}

/// `8 5[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==> 10 7[  ] "spine00" (Could be 12X )`, with `-l`
/// the GUID and the description before each end.
pub(crate) struct PortRow<'a> {
    pub(crate) guid: Option<u64>,
    pub(crate) description: Option<&'a str>,
    pub(crate) lid: u16,
    pub(crate) port: u8,
    /// The label printed at the port of a chassis.
    pub(crate) label: Option<&'a str>,
    pub(crate) link: PrintedLink,
    pub(crate) peer: Option<Peer<'a>>,
}

/// The other end.
pub(crate) struct Peer<'a> {
    pub(crate) guid: Option<u64>,
    pub(crate) lid: u16,
    pub(crate) port: u8,
    pub(crate) description: &'a str,
    /// The text after 'Could be', where it can be used.
    pub(crate) could_be: CouldBe,
}

/// States and rate; what is not understood is none, with `is_whole` false.
pub(crate) struct PrintedLink {
    pub(crate) rate: Option<LinkRate>,
    pub(crate) logical: Option<LogicalState>,
    pub(crate) physical: Option<PhysicalState>,
    pub(crate) is_whole: bool,
}

/// A better width and speed, each by itself.
#[derive(Default)]
pub(crate) struct CouldBe {
    width: Option<Width>,
    speed: Option<Speed>,
    pub(crate) is_whole: bool,
}

impl PortRow<'_> {
    pub(crate) fn of(line: &str) -> Option<PortRow<'_>> {
        let (left, right) = line.split_once("==(")?;
        let (link, right) = right.split_once(")==>")?;
        let mut cursor = Cursor::new(left);
        let guid = guid(&mut cursor)?;
        let description = if cursor.blanks().tag("\"").is_some() {
            Some(cursor.until_last("\"")?.trim_start())
        } else {
            None
        };
        let (lid, port, label) = socket(&mut cursor)?;
        let (link, peer) = (PrintedLink::of(link), Peer::of(right)?);
        cursor.is_done().then_some(PortRow { guid, description, lid, port, label, link, peer })
    }
}

impl Peer<'_> {
    /// Nothing where there is no peer: `             [  ] "" ( )`.
    #[allow(clippy::option_option)] // A line without a peer is no line without sense.
    fn of(text: &str) -> Option<Option<Peer<'_>>> {
        let mut cursor = Cursor::new(text);
        if cursor.blanks().tail.starts_with('[') {
            return Some(None);
        }
        let guid = guid(&mut cursor)?;
        let (lid, port, _) = socket(&mut cursor)?;
        let description = cursor.blanks().tag("\"")?.until_last("\" (")?;
        let could_be = CouldBe::of(cursor.tail.trim_end().strip_suffix(')')?);
        Some(Some(Peer { guid, lid, port, description, could_be }))
    }
}

impl PrintedLink {
    /// ` 4X  10.0 Gbps (FDR10) Active/  LinkUp`, `Down/ Polling`; with `-p` some settings follow.
    fn of(text: &str) -> PrintedLink {
        let text = text.split_once(") (HOQ:").map_or(text, |(link, _)| link);
        let (before, physical) = text.rsplit_once('/').unwrap_or((text, ""));
        let before = before.trim();
        let (rate, logical) = before.rsplit_once(' ').unwrap_or(("", before));
        let physical = PhysicalState::from_word(physical.trim());
        let logical = LogicalState::from_word(logical);
        let rate = rate.trim();
        let link = rate.split_once(' ').and_then(|(width, speed)| {
            Some(LinkRate { width: Width::from_word(width)?, speed: speed_of(speed.trim())? })
        });
        let is_whole =
            physical.is_some() && logical.is_some() && (rate.is_empty() || link.is_some());
        PrintedLink { rate: link, logical, physical, is_whole }
    }
}

impl CouldBe {
    /// ` `, `Could be 12X `, `Could be 4X Could be 53.125 Gbps`.
    fn of(text: &str) -> CouldBe {
        let mut could_be = CouldBe { is_whole: true, ..CouldBe::default() };
        for what in text.split("Could be ").map(str::trim).filter(|what| !what.is_empty()) {
            if let Some(width) = Width::from_word(what) {
                could_be.width = Some(width);
            } else if let Some(speed) = speed_of(what) {
                could_be.speed = Some(speed);
            } else {
                could_be.is_whole = false;
            }
        }
        could_be
    }

    /// The possible rate of the link. A width above four lanes is no ground for complaint: no cable
    /// of a host or switch has more, and ibsim claims it of every port.
    pub(crate) fn rate(&self, now: LinkRate) -> Option<LinkRate> {
        let width = self.width.filter(|width| *width <= Width::X4);
        let better =
            LinkRate { width: width.unwrap_or(now.width), speed: self.speed.unwrap_or(now.speed) };
        (better != now).then_some(better)
    }
}

/// '53.125 Gbps', '10.0 Gbps (FDR10)', 'FDR10 (Found link at QDR but expected speed is FDR10)',
/// 'HDR'.
fn speed_of(text: &str) -> Option<Speed> {
    if text.contains("FDR10") {
        return Some(Speed::Fdr10);
    }
    match text.split_once(' ') {
        Some((gbps, "Gbps")) => Speed::of_lane_gbps(gbps.parse().ok()?),
        Some(_) => None,
        None => Speed::from_word(text),
    }
}

/// `0x506b4b0300000140`, which need not be there.
#[allow(clippy::option_option)] // None is a GUID cut short.
fn guid(cursor: &mut Cursor<'_>) -> Option<Option<u64>> {
    if cursor.blanks().tail.starts_with("0x") { cursor.hex().map(Some) } else { Some(None) }
}

/// A LID and a port: `8    5[  ]`; in brackets what is printed at the port of a chassis.
fn socket<'a>(cursor: &mut Cursor<'a>) -> Option<(u16, u8, Option<&'a str>)> {
    let lid = cursor.blanks().number()?;
    let port = cursor.blanks().number()?;
    let label = cursor.tag("[")?.until("]")?.trim();
    Some((lid, port, Some(label).filter(|label| !label.is_empty())))
}
