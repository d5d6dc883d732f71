//! Facts: each statement of a log once, with all its speakers.

use crate::speaker::{Speaker, Speakers};
use serde::Serialize;
use std::collections::HashMap;
use weft_fabric::subnet::Place;

/// So many different facts are kept: far above the facts of a job of 100,000 ranks.
const MAX_FACTS: usize = 1 << 18;
/// Longest word of a fact, in bytes; what is beyond is cut.
const MAX_WORD_BYTES: usize = 240;
/// Between the words of a key: no word holds one.
const BETWEEN: u8 = 0x1f;

/// The subject of a fact, and its words in their order ("" where the line has none).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Kind {
    /// library, version.
    Version,
    /// network.
    Network,
    /// kind of plug-in (net, collnet, tuner), name, version of its interface.
    PluginLoaded,
    /// file or name that was asked for.
    PluginAsked,
    /// file, reason: it could not be opened.
    PluginMissing,
    /// symbol that the plug-in does not export.
    PluginSymbol,
    /// what the plug-in is: unsupported by this version.
    PluginRefused,
    /// name of the network that could not be initialised, a plug-in's or NCCL's own.
    PluginFailed,
    /// transport, index, device, link layer or address, "sharp" or "".
    Nic,
    /// transport: it found no device.
    NoDevice,
    /// provider, number of devices: libfabric's, as aws-ofi-nccl chose it.
    Provider,
    /// transport, index, device, "on" or "off", reason.
    GpuDirect,
    /// transport, device's index, "GDRDMA" or "", "PXN" or "", send or receive.
    Channel,
    /// what the channels are connected as: rings, trees, NVLS tree, CollNet.
    Connected,
    /// coll, collnet, nvls, p2p: numbers of channels.
    Channels,
    /// "on" or "off": the GPU can multicast.
    Nvls,
    /// id, number of ranks, START or COMPLETE.
    Communicator,
    /// number of ranks, nodes, ranks on this node.
    Place,
    /// name, value: a variable that the library read.
    Echo,
    /// name, value, who: the value was refused, or a plug-in set it.
    Refused,
    /// name, value: a plug-in set the variable by itself.
    SetByPlugin,
    /// collective, algorithm, protocol; sizes in bytes.
    Algorithm,
    /// why switches do not reduce.
    CollnetOff,
    /// file, reason.
    TopologyMissing,
    /// what was wanted and is not, where the library does not warn of it.
    Fallback,
    /// library, where in the source, text.
    Warning,
    /// framework (pml, mtl, btl, coll, netmod), component, "selected", "usable", "failed" or
    /// "refused": of MPI.
    Component,
    /// libfabric's fabric that was opened.
    Fabric,
    /// between ranks (self, intra-node, inter-node or ""), lanes: of UCX, for tagged messages.
    Lanes,
    /// name: a variable that the library knows nothing of.
    Unused,
    /// kind of tree: what switches reduce by, once a job has it.
    SharpTree,
    /// kind of tree, number of members: a communicator that switches reduce for.
    SharpGroup,
    /// where in the source, text: why SHARP failed.
    SharpError,
    /// adapters as MVAPICH2 knows them.
    Adapter,
    /// interface, address: where a process can be reached during start-up.
    Bootstrap,
    /// place in the source, code, thread: a call that failed, on its path through NCCL.
    Failed,
    /// name: a collective that was called.
    Collective,
    /// number of a network device in the topology of a communicator that needs it.
    NetworkPath,
    /// rank, host: as nccl-tests lists them.
    Listed,
}

#[derive(Debug)]
struct Fact {
    kind: Kind,
    key: Box<[u8]>,
    n: u64,
    first: Place,
    sizes: Option<(u64, u64)>,
    by: Speeches,
}

/// One file that was read.
#[derive(Debug, Default, Serialize)]
pub struct Source {
    /// Its name in messages.
    pub name: String,
    /// Lines, and bytes.
    pub n_lines: u32,
    /// Its size.
    pub n_bytes: u64,
    /// Lines of which something was understood.
    pub n_understood: u64,
    /// Lines with the beginning of another in them.
    pub n_torn: u64,
    /// The first line whose end was cut off because it is too long.
    pub cut: Option<u32>,
    /// Whether it has no end, so that later lines were left out.
    pub endless: bool,
}

/// All that logs report.
#[derive(Debug, Default)]
pub struct Facts {
    /// Files that were read.
    pub sources: Vec<Source>,
    /// The speakers.
    pub speakers: Speakers,
    rows: Vec<Fact>,
    of_key: HashMap<Box<[u8]>, u32>,
    /// Facts that there was no room for.
    pub n_left_out: u64,
    scratch: Vec<u8>,
}

impl Facts {
    /// The facts as a document: docs/reference/doctor_log.md.
    pub fn to_document(&mut self) -> Document<'_> {
        let facts = self.rows.iter_mut().map(|fact| FactRow {
            kind: fact.kind,
            words: fact.key[1..]
                .split(|byte| *byte == BETWEEN)
                .skip(1)
                .map(|word| String::from_utf8_lossy(word).into_owned())
                .collect(),
            n: fact.n,
            first: (fact.first.source, fact.first.line),
            sizes: fact.sizes,
            by: fact.by.runs(),
        });
        Document {
            facts: facts.collect(),
            sources: &self.sources,
            speakers: self.speakers.all(),
            n_left_out: self.n_left_out + self.speakers.n_left_out,
        }
    }
}

/// A word as it is kept: without what would steer a terminal, and not too long.
fn push_word(key: &mut Vec<u8>, word: &str) {
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte);
    if word.len() <= MAX_WORD_BYTES && word.as_bytes().iter().all(is_plain) {
        key.extend_from_slice(word.as_bytes());
        return;
    }
    let start = key.len();
    for character in word.chars() {
        if key.len() - start >= MAX_WORD_BYTES {
            break;
        }
        let shown = if character.is_control() { ' ' } else { character };
        key.extend_from_slice(shown.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// Whether a reader took a line or a message.
pub(crate) type Understood = Option<()>;

/// A statement of a log: its speaker and place, and the facts that it adds to.
pub(crate) struct Statement<'a> {
    pub(crate) facts: &'a mut Facts,
    /// Number of the speaker, if the line names one.
    pub(crate) speaker: Option<u32>,
    /// Where it stands.
    pub(crate) place: Place,
    /// Where in the library's source, if a warning names it.
    pub(crate) from: &'a str,
}

impl<'a> Statement<'a> {
    /// A statement of no known speaker.
    pub(crate) fn new(place: Place, facts: &'a mut Facts) -> Statement<'a> {
        Statement { facts, speaker: None, place, from: "" }
    }

    /// Note a fact; the line is understood.
    pub(crate) fn note(&mut self, kind: Kind, words: &[&str]) -> Understood {
        self.note_sized(kind, words, None)
    }

    /// The same for something that has a size in bytes.
    pub(crate) fn note_sized(
        &mut self,
        kind: Kind,
        words: &[&str],
        size: Option<u64>,
    ) -> Understood {
        let facts = &mut *self.facts;
        facts.scratch.clear();
        facts.scratch.push(kind as u8);
        for word in words {
            facts.scratch.push(BETWEEN);
            push_word(&mut facts.scratch, word);
        }
        let at = match facts.of_key.get(&facts.scratch[..]) {
            Some(at) => *at as usize,
            None if facts.rows.len() >= MAX_FACTS => {
                facts.n_left_out += 1;
                return Some(());
            }
            None => {
                let key: Box<[u8]> = facts.scratch[..].into();
                facts.of_key.insert(key.clone(), facts.rows.len() as u32);
                let (first, by) = (self.place, Speeches::default());
                facts.rows.push(Fact { kind, key, n: 0, first, sizes: None, by });
                facts.rows.len() - 1
            }
        };
        let fact = &mut facts.rows[at];
        fact.n += 1;
        if let Some(size) = size {
            let (least, most) = fact.sizes.unwrap_or((size, size));
            fact.sizes = Some((least.min(size), most.max(size)));
        }
        if let Some(speaker) = self.speaker {
            fact.by.insert(speaker);
        }
        Some(())
    }
}

/// Numbers of speakers, and how often each spoke.
#[derive(Debug, Default)]
struct Speeches {
    of: Vec<(u32, u32)>,
    n_sorted: usize,
}

impl Speeches {
    fn insert(&mut self, speaker: u32) {
        if let Some((_, n)) = self.of.last_mut().filter(|(last, _)| *last == speaker) {
            *n = n.saturating_add(1);
            return;
        }
        self.of.push((speaker, 1));
        if self.of.len() > 2 * self.n_sorted + 64 {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.of.sort_unstable_by_key(|(speaker, _)| *speaker);
        self.of.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 = kept.1.saturating_add(if is_same { next.1 } else { 0 });
            is_same
        });
        self.n_sorted = self.of.len();
    }

    /// First and last of each run of numbers that spoke equally often, and how often.
    fn runs(&mut self) -> Vec<(u32, u32, u32)> {
        self.settle();
        let mut runs: Vec<(u32, u32, u32)> = Vec::new();
        for (speaker, n) in &self.of {
            match runs.last_mut() {
                Some((_, last, times)) if *last + 1 == *speaker && times == n => *last = *speaker,
                _ => runs.push((*speaker, *speaker, *n)),
            }
        }
        runs
    }
}

/// [`Facts`] as JSON has them.
#[derive(Serialize)]
pub struct Document<'a> {
    sources: &'a [Source],
    speakers: &'a [Speaker],
    facts: Vec<FactRow>,
    n_left_out: u64,
}

#[derive(Serialize)]
struct FactRow {
    kind: Kind,
    words: Vec<String>,
    n: u64,
    first: (u32, u32),
    #[serde(skip_serializing_if = "Option::is_none")]
    sizes: Option<(u64, u64)>,
    by: Vec<(u32, u32, u32)>,
}
