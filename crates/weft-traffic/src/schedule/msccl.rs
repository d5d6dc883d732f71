//! The XML of an MSCCL algorithm: GPUs, their thread blocks, and the steps of each.
//!
//! A thread block does one step after the other; a step may also wait for one of another block of
//! its GPU (`depid`, `deps`). A buffer of `size_bytes` is cut into `nchunksperloop` chunks, a step
//! moves `cnt` of them; copying and adding cost nothing. Channels are tags.
//!
//! SOURCE: Cowan et al., "MSCCLang: Microsoft Collective Communication Language" (ASPLOS 2023); the
//! names of elements and attributes as Microsoft's msccl-tools write them.

use super::graph::{MAX_OPERATIONS, ScheduledMessage, ScheduledOperation, Work, wrong};
use crate::error::TrafficError;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::HashMap;

/// Most elements and texts of a document.
const MAX_NODES: u32 = 8 * MAX_OPERATIONS as u32;

pub(super) fn read(
    place: &str,
    text: &str,
    n_ranks: u32,
    size_bytes: u64,
) -> Result<Vec<Vec<ScheduledOperation>>, TrafficError> {
    // Without document types there are no entities to expand.
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..Default::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let what = format!("no XML: {error}");
        wrong(place, error.pos().row, what, "an element 'algo' of elements 'gpu'")
    })?;
    let algo = Element { place, node: document.root_element() };
    if algo.node.tag_name().name() != "algo" {
        return Err(algo.wrong("no 'algo'", "an element 'algo' of elements 'gpu'"));
    }
    let n_chunks: u64 = algo.number("nchunksperloop")?;
    if n_chunks == 0 {
        return Err(algo.wrong("nchunksperloop is 0", "1 or more"));
    }
    let mut ranks = vec![Vec::new(); n_ranks as usize];
    let mut n_operations = 0;
    for gpu in algo.children("gpu") {
        let rank = gpu.peer("id", n_ranks)?.unwrap_or(n_ranks);
        let Some(own) = ranks.get_mut(rank as usize) else {
            return Err(gpu.wrong("a GPU without a number", "an id from 0 on"));
        };
        if !own.is_empty() {
            return Err(gpu.wrong(format!("GPU {rank} again"), "each GPU once"));
        }
        *own = Gpu::new(rank, n_ranks, size_bytes, n_chunks).read(&gpu)?;
        n_operations += own.len();
        if n_operations > MAX_OPERATIONS {
            return Err(gpu.wrong("too many steps", format!("at most {MAX_OPERATIONS}")));
        }
    }
    Ok(ranks)
}

/// An element, with errors at its line.
struct Element<'a, 'input> {
    place: &'a str,
    node: Node<'a, 'input>,
}

impl<'a, 'input> Element<'a, 'input> {
    fn line(&self) -> u32 {
        self.node.document().text_pos_at(self.node.range().start).row
    }

    fn wrong(&self, what: impl Into<String>, expected: impl Into<String>) -> TrafficError {
        wrong(self.place, self.line(), what, expected)
    }

    fn children(&self, name: &'static str) -> impl Iterator<Item = Element<'a, 'input>> {
        let place = self.place;
        let named = self.node.children().filter(move |node| node.has_tag_name(name));
        named.map(move |node| Element { place, node })
    }

    fn text(&self, name: &str) -> Result<&'a str, TrafficError> {
        let missing = || {
            let tag = self.node.tag_name().name();
            self.wrong(format!("'{tag}' without '{name}'"), format!("an attribute '{name}'"))
        };
        self.node.attribute(name).ok_or_else(missing)
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T, TrafficError> {
        let text = self.text(name)?;
        text.parse().map_err(|_| self.wrong(format!("{name} is '{text}'"), "a whole number"))
    }

    /// A GPU's number; none for -1.
    fn peer(&self, name: &str, n_ranks: u32) -> Result<Option<u32>, TrafficError> {
        match self.number::<i64>(name)? {
            -1 => Ok(None),
            peer if (0..i64::from(n_ranks)).contains(&peer) => Ok(Some(peer as u32)),
            peer => {
                let what = format!("{name} is {peer} with {n_ranks} ranks");
                Err(self.wrong(what, format!("below {n_ranks}, or -1 for none")))
            }
        }
    }
}

/// The operations of one GPU as they are read.
struct Gpu {
    rank: u32,
    n_ranks: u32,
    size_bytes: u64,
    n_chunks: u64,
    operations: Vec<ScheduledOperation>,
    /// By block and step: its first and its last operation.
    steps: HashMap<(i64, i64), (u32, u32)>,
    /// A step's first operation waits for a step of another block, named in this line.
    waits: Vec<(u32, (i64, i64), u32)>,
}

impl Gpu {
    fn new(rank: u32, n_ranks: u32, size_bytes: u64, n_chunks: u64) -> Gpu {
        let (operations, steps, waits) = (Vec::new(), HashMap::new(), Vec::new());
        Gpu { rank, n_ranks, size_bytes, n_chunks, operations, steps, waits }
    }

    fn read(mut self, gpu: &Element) -> Result<Vec<ScheduledOperation>, TrafficError> {
        for block in gpu.children("tb") {
            let id: i64 = block.number("id")?;
            let mut before = None;
            for step in block.children("step") {
                let number: i64 = step.number("s")?;
                let (first, last) = self.step(&block, &step, before)?;
                if self.steps.insert((id, number), (first, last)).is_some() {
                    let what = format!("step {number} of block {id} again");
                    return Err(step.wrong(what, "each step of a block once"));
                }
                let other: (i64, i64) = (step.number("depid")?, step.number("deps")?);
                if other.0 != -1 {
                    self.waits.push((first, other, step.line()));
                }
                before = Some(last);
            }
        }
        for (operation, other, line) in std::mem::take(&mut self.waits) {
            let Some((_, last)) = self.steps.get(&other) else {
                let what = format!("no step {} of block {} on this GPU", other.1, other.0);
                return Err(wrong(gpu.place, line, what, "depid and deps of a step, or -1"));
            };
            self.operations[operation as usize].after.push(*last);
        }
        Ok(self.operations)
    }

    /// Add a step's operations; the first and the last of them.
    fn step(
        &mut self,
        block: &Element,
        step: &Element,
        before: Option<u32>,
    ) -> Result<(u32, u32), TrafficError> {
        let (receives, sends) = match step.text("type")? {
            "s" => (false, true),
            "r" | "rrc" => (true, false),
            "rcs" | "rrs" | "rrcs" => (true, true),
            "cpy" | "re" | "nop" => (false, false),
            kind => {
                let expected = "one of s, r, rcs, rrc, rrs, rrcs, cpy, re, nop";
                return Err(step.wrong(format!("a step of type '{kind}'"), expected));
            }
        };
        let mut works = Vec::new();
        if receives {
            works.push(Work::Recv(self.message(block, "recv", step)?));
        }
        if sends {
            works.push(Work::Send(self.message(block, "send", step)?));
        }
        if works.is_empty() {
            works.push(Work::Compute { ps: 0 });
        }
        let first = self.operations.len() as u32;
        let mut before = before;
        for work in works {
            let mut operation = ScheduledOperation::new(work, step.line());
            operation.after.extend(before);
            before = Some(self.operations.len() as u32);
            self.operations.push(operation);
        }
        Ok((first, self.operations.len() as u32 - 1))
    }

    fn message(
        &self,
        block: &Element,
        side: &str,
        step: &Element,
    ) -> Result<ScheduledMessage, TrafficError> {
        let Some(peer) = block.peer(side, self.n_ranks)?.filter(|peer| *peer != self.rank) else {
            let what = format!("a step that needs another GPU in '{side}' of its block");
            return Err(step.wrong(what, "the number of another GPU there"));
        };
        let count: u64 = step.number("cnt")?;
        let bytes = u128::from(self.size_bytes) * u128::from(count);
        let size_bytes = bytes.div_ceil(u128::from(self.n_chunks));
        match u64::try_from(size_bytes).ok().filter(|size| *size <= 1 << 40) {
            Some(size_bytes) => {
                Ok(ScheduledMessage { peer, size_bytes, tag: block.number("chan")? })
            }
            None => Err(step.wrong(format!("{size_bytes} bytes in a message"), "at most 1 TiB")),
        }
    }
}
