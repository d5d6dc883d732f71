//! Sets of names as Slurm writes them.

use proptest::prelude::*;
use std::collections::BTreeSet;
use weft_fabric::node_set::{expand, fold};

#[test]
fn brackets_are_numbers_of_as_many_digits() {
    assert_eq!(expand("vc[1-2]").unwrap(), ["vc1", "vc2"]);
    assert_eq!(
        expand("c[101-102]-[008-010]x,login").unwrap().join(" "),
        "c101-008x c101-009x c101-010x c102-008x c102-009x c102-010x login"
    );
    assert_eq!(expand("n[08,9-10]").unwrap(), ["n08", "n9", "n10"]);
}

#[test]
fn what_is_no_set_is_refused_with_what_is_wrong() {
    for (set, what) in [
        ("n[1-2", "']' is missing"),
        ("n1]", "']' out of place"),
        ("n[[1]]", "'[' out of place"),
        ("n[2-1]", "'2-1' is no range of numbers"),
        ("n[a-b]", "'a-b' is no range of numbers"),
        ("n[]", "'' is no range of numbers"),
        ("n[+1-2]", "'+1-2' is no range of numbers"),
        ("a,,b", "a name is missing between two commas"),
        ("n[1-99999999999999999999]", "'1-99999999999999999999' is no range of numbers"),
        ("n[1-99999999999]", "more than 1048576 names"),
        ("n[0-2000]-[0-2000]", "more than 1048576 names"),
        ("n[1-1048576],m[1-1048576]", "more than 1048576 names"),
    ] {
        assert_eq!(expand(set).unwrap_err(), what, "{set}");
    }
}

/// A file of a million such lines would never end otherwise.
#[test]
fn a_set_that_is_too_large_is_refused_before_it_is_made() {
    let begun = std::time::Instant::now();
    for _ in 0..10_000 {
        assert!(expand("n[0-999999],n[0-999999]").is_err());
        assert!(expand("n[0-999999],n[x]").is_err());
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(5));
}

#[test]
fn names_are_folded_at_their_last_number() {
    assert_eq!(fold(["n010", "n009", "n011", "login", "n013"]), "login,n[009-011,013]");
    assert_eq!(fold(["n9", "n10", "n010"]), "n[9-10,010]");
    assert_eq!(fold(["n099", "n100", "n1"]), "n[1,099-100]");
    assert_eq!(fold(["c101-001", "c102-001"]), "c101-001,c102-001");
    assert_eq!(fold(["a1", "a1"]), "a1");
    assert_eq!(fold([]), "");
}

proptest! {
    #[test]
    fn what_is_folded_unfolds_again(
        names in prop::collection::btree_set("[a-c]{0,2}-?[0-9]{0,3}", 0..40),
    ) {
        let names: BTreeSet<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let folded = fold(names.iter().map(String::as_str));
        let again = if names.is_empty() { Vec::new() } else { expand(&folded).expect("a set") };
        prop_assert_eq!(again.len(), names.len());
        prop_assert_eq!(again.into_iter().collect::<BTreeSet<_>>(), names);
    }
}
