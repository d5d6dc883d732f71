//! Speakers: a GPU of a process of a host, and its rank.

use serde::Serialize;
use std::collections::HashMap;

/// Most speakers that are distinguished.
const MAX_SPEAKERS: usize = 1 << 18;
/// Beginnings of lines that are remembered with their speaker: where a time stands in them, each
/// is another.
const MAX_HEADS: usize = 1 << 16;
const MAX_HEAD_BYTES: usize = 120;

/// `device` is the GPU's number as the line gives it, which may be nonsense before one is chosen.
/// Of several communicators, `rank` is that in the largest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Speaker {
    /// Its host.
    pub host: String,
    /// Its process.
    pub pid: String,
    /// Its GPU.
    pub device: String,
    /// Its rank, once a communicator names it.
    pub rank: Option<u32>,
    /// Ranks of that communicator.
    pub n_ranks: Option<u32>,
}

/// Speakers so far, by number.
#[derive(Debug, Default)]
pub struct Speakers {
    all: Vec<Speaker>,
    of_who: HashMap<String, u32>,
    of_head: HashMap<Box<str>, Option<u32>>,
    pub(crate) n_left_out: u64,
}

impl Speakers {
    /// All of them.
    pub fn all(&self) -> &[Speaker] {
        &self.all
    }

    /// The number of the speaker whose lines begin like this: `host:pid:thread [device]`.
    pub(crate) fn number(&mut self, head: &str) -> Option<u32> {
        if let Some(number) = self.of_head.get(head) {
            return *number;
        }
        let number = Who::parse(head).and_then(|who| self.number_of(who));
        if self.of_head.len() >= MAX_HEADS {
            self.of_head.clear();
        }
        if head.len() <= MAX_HEAD_BYTES {
            self.of_head.insert(head.into(), number);
        }
        number
    }

    /// The number of a process that gives its host and its number, and no GPU.
    pub(crate) fn process(&mut self, host: &str, pid: &str) -> Option<u32> {
        let pid = pid.trim_start_matches('0');
        let is_process =
            (host.is_empty() || is_host_name(host)) && is_number(pid) && pid.len() <= 10;
        is_process.then(|| self.number_of(Who { host, pid, device: "" })).flatten()
    }

    fn number_of(&mut self, who: Who<'_>) -> Option<u32> {
        let key = format!("{}:{}:{}", who.host, who.pid, who.device);
        if let Some(number) = self.of_who.get(&key) {
            return Some(*number);
        }
        if self.all.len() >= MAX_SPEAKERS {
            self.n_left_out += 1;
            return None;
        }
        let number = self.all.len() as u32;
        self.of_who.insert(key, number);
        self.all.push(Speaker {
            host: who.host.to_owned(),
            pid: who.pid.to_owned(),
            device: who.device.to_owned(),
            ..Speaker::default()
        });
        Some(number)
    }

    /// Note a speaker's rank in a communicator; that in the largest counts, the first of those.
    pub(crate) fn is_rank(&mut self, number: Option<u32>, rank: u32, n_ranks: u32) {
        let Some(speaker) = number.and_then(|number| self.all.get_mut(number as usize)) else {
            return;
        };
        if speaker.n_ranks.is_none_or(|known| known < n_ranks) {
            speaker.rank = Some(rank);
            speaker.n_ranks = Some(n_ranks);
        }
    }
}

/// A line's statement about its speaker.
#[derive(Clone, Copy)]
struct Who<'a> {
    host: &'a str,
    pid: &'a str,
    device: &'a str,
}

/// Longest name of a host that is one.
const MAX_HOST_BYTES: usize = 255;

impl<'a> Who<'a> {
    /// Out of what stands before a message: launchers' and clocks' marks come first.
    fn parse(head: &'a str) -> Option<Who<'a>> {
        let mut device = "";
        for word in head.split_ascii_whitespace().rev() {
            let inside = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
            if let Some(inside) = inside.filter(|inside| is_device(inside)) {
                device = inside;
                continue;
            }
            if let Some((host, pid)) = host_and_pid(word) {
                return Some(Who { host, pid, device });
            }
        }
        None
    }
}

/// Marks that launchers, containers and Markdown glue before a host's name.
const BEFORE_A_HOST: [char; 9] = [':', '>', ']', ')', '|', '`', '"', '\'', '*'];

/// A line that lost its beginning starts with a part of a name, which may be `-21`.
fn is_host_name(text: &str) -> bool {
    (1..=MAX_HOST_BYTES).contains(&text.len())
        && !text.starts_with('-')
        && text.chars().all(|one| one.is_alphanumeric() || matches!(one, '.' | '-' | '_'))
}

fn is_device(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    is_number(digits) && digits.len() <= 10
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Of `host:pid:thread`, with marks of a launcher glued before it (`[1,3]<stdout>:`).
fn host_and_pid(word: &str) -> Option<(&str, &str)> {
    let (tail, thread) = word.rsplit_once(':')?;
    let (tail, pid) = tail.rsplit_once(':')?;
    let host = tail.rsplit(BEFORE_A_HOST).next()?;
    // A name that was taken out of a post: `<node>:21:42`.
    let host = if host.is_empty() { tail.strip_suffix('>')?.rsplit_once('<')?.1 } else { host };
    let is_host = is_host_name(host) && !["stdout", "stderr"].contains(&host);
    // A time of day looks the same: 12:34:56.
    let is_time = host.len() <= 2 && is_number(host);
    let is_process = is_number(pid) && pid.len() <= 10 && is_number(thread);
    (is_host && !is_time && is_process).then_some((host, pid))
}

#[cfg(test)]
mod tests {
    use super::Who;

    fn who(head: &str) -> Option<(&str, &str, &str)> {
        Who::parse(head).map(|who| (who.host, who.pid, who.device))
    }

    #[test]
    fn marks_of_launchers_and_clocks_are_not_the_host() {
        for head in [
            "node-1:21:42 [0]",
            "[1,3]<stdout>:node-1:21:42 [0]",
            "3: node-1:21:42 [0]",
            "238: [rank238]:node-1:21:42 [0]",
            "[2026-11-21 02:36:20] node-1:21:42 [0]",
            "02:36:20 node-1:21:42 [0]",
            "2026-11-21T02:36:20.123Z node-1:21:42 [0] misc/cudawrap.cc:329 (initOnceFunc)",
            "(Worker pid=99) node-1:21:42 [0]",
            "(RayWorkerWrapper pid=248, ip=10.1.160.68) node-1:21:42 [0]",
            "> node-1:21:42 [0]",
            "> > `node-1:21:42 [0]",
            "worker-0 | node-1:21:42 [0]",
            "| 2025-05-16T16:39:51.208-07:00 | node-1:21:42 [0]",
            "[pod/train-0/pytorch] node-1:21:42 [0]",
            "{\"log\":\"node-1:21:42 [0]",
            "50%|###  | 3/6 [00:01<00:01]\rnode-1:21:42 [0]",
        ] {
            assert_eq!(who(head), Some(("node-1", "21", "0")), "{head}");
        }
    }

    #[test]
    fn a_line_that_names_nothing_is_no_ones() {
        for head in ["", "02:36:20", "[2026-11-21 02:36:20]", "a:b:c [0]", "[0]", "-21:7:7 [0]"] {
            assert_eq!(who(head), None, "{head}");
        }
    }

    #[test]
    fn a_name_that_was_taken_out_is_a_name() {
        assert_eq!(who("<cluster_name>:919:1150 [0]"), Some(("cluster_name", "919", "0")));
        assert_eq!(who("[1,3]<stdout>:21:42 [0]"), None);
    }

    #[test]
    fn a_device_may_be_nonsense_or_not_there() {
        assert_eq!(who("vm:1:2 [32764]"), Some(("vm", "1", "32764")));
        assert_eq!(who("vm:1:2 [-1]"), Some(("vm", "1", "-1")));
        assert_eq!(who("vm:1:2"), Some(("vm", "1", "")));
    }
}
