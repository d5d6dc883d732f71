//! The sample files of `tests/fixtures/fabric`: what real tools printed.

use std::fs;
use std::path::{Path, PathBuf};
use weft_fabric::read;
use weft_fabric::subnet::{Gathered, Subnet};

/// The folder of samples.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/fabric")
}

/// Every sample: its path below the folder, and its bytes.
pub(crate) fn all() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder()];
    while let Some(here) = folders.pop() {
        for entry in fs::read_dir(here).expect("the samples are part of the project") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_none_or(|extension| extension != "md") {
                let name = path.strip_prefix(folder()).expect("below it").display().to_string();
                found.push((name, fs::read(&path).expect("a readable sample")));
            }
        }
    }
    found.sort();
    found
}

/// The text of a sample, by its path below the folder.
pub(crate) fn text(name: &str) -> String {
    fs::read_to_string(folder().join(name)).expect("a sample")
}

/// The records of a text.
pub(crate) fn read(text: impl AsRef<[u8]>) -> Gathered {
    gathered(&[("text", text.as_ref())])
}

/// What a reader makes of some files, each with a name.
pub(crate) fn gathered(files: &[(&str, &[u8])]) -> Gathered {
    let mut gathered = Gathered::default();
    for (name, bytes) in files {
        read::read(name, &mut &bytes[..], &mut gathered).expect("memory can be read");
    }
    gathered
}

/// The subnet of some samples, by their paths below the folder.
pub(crate) fn subnet(names: &[&str]) -> Subnet {
    let read = |name: &&str| fs::read(folder().join(name)).expect("a sample");
    let contents: Vec<Vec<u8>> = names.iter().map(read).collect();
    let files: Vec<(&str, &[u8])> =
        names.iter().zip(&contents).map(|(name, bytes)| (*name, &bytes[..])).collect();
    Subnet::of(gathered(&files))
}
