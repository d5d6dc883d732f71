//! MVAPICH2 (`MV2_SHOW_ENV_INFO=1` or 2): its version, the adapter it sees, parameters in force.
//!
//! SOURCE: MVAPICH2's mv2_print_env_info (ibv_param.c, psm_entry.c): ` MVAPICH2-%s Parameters`,
//! then a name, a colon and a value a line.

use crate::facts::{Kind, Statement, Understood};

/// `\tMV2_IBA_EAGER_THRESHOLD        : 17408`
pub(crate) fn read(line: &str, statement: &mut Statement<'_>) -> Understood {
    let (name, value) = line.split_once(" : ")?;
    let name = name.rsplit(['>', '\t']).next().unwrap_or(name);
    let name = name.trim().trim_start_matches("- ");
    if name == "HCA NAME" {
        return statement.note(Kind::Adapter, &[value.trim()]);
    }
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let is_name = name.starts_with("MV2_") && name.bytes().all(is_part);
    if is_name { statement.note(Kind::Echo, &[name, value.trim()]) } else { None }
}

/// ` MVAPICH2-2.3.7 Parameters`.
pub(crate) fn version(line: &str, statement: &mut Statement<'_>) -> Understood {
    let version = line.split_once("MVAPICH2-")?.1.strip_suffix(" Parameters")?;
    statement.note(Kind::Version, &["MVAPICH2", version])
}
