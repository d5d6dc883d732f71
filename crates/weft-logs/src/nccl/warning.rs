//! Warnings of the library.

/// Where in the source a warning comes from: `misc/cudawrap.cc:179`, with or without a function.
pub(crate) fn place(head: &str) -> &str {
    let is_place = |word: &&str| {
        let file = word.rsplit_once(':').map_or("", |(file, _)| file);
        [".cc", ".c", ".cpp", ".h"].iter().any(|ending| file.ends_with(ending))
    };
    head.split_ascii_whitespace().rev().find(is_place).unwrap_or("")
}
