//! MVAPICH2 (`MV2_SHOW_ENV_INFO=1` or 2): its version, the adapter it sees, parameters in force.
//!
//! SOURCE: MVAPICH2's mv2_print_env_info (ibv_param.c, psm_entry.c): ` MVAPICH2-%s Parameters`,
//! then a name, a colon and a value a line.

use crate::facts::{Facts, Kind, Place, Said};

/// `\tMV2_IBA_EAGER_THRESHOLD        : 17408`; whether it was one of its lines.
pub(crate) fn read(line: &str, place: Place, facts: &mut Facts) -> bool {
    let Some((name, value)) = line.split_once(" : ") else {
        return false;
    };
    let name = name.rsplit(['>', '\t']).next().unwrap_or(name);
    let name = name.trim().trim_start_matches("- ");
    let said = Said { speaker: None, place, from: "" };
    if name == "HCA NAME" {
        facts.note(said, Kind::Adapter, &[value.trim()]);
        return true;
    }
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    if name.starts_with("MV2_") && name.bytes().all(is_name) {
        facts.note(said, Kind::Echo, &[name, value.trim()]);
        return true;
    }
    false
}

/// ` MVAPICH2-2.3.7 Parameters`.
pub(crate) fn version(line: &str, place: Place, facts: &mut Facts) -> bool {
    let Some((_, rest)) = line.split_once("MVAPICH2-") else {
        return false;
    };
    let Some(version) = rest.strip_suffix(" Parameters") else {
        return false;
    };
    facts.note(Said { speaker: None, place, from: "" }, Kind::Version, &["MVAPICH2", version]);
    true
}
