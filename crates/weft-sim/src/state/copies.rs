//! Packets that leave a switch by several ports: their buffer is free when the last copy has left.

use crate::state::buffer::held::Held;

/// A packet that is being copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    /// What it holds of the input buffer it came into.
    pub(crate) held: Held,
    /// What its copies carry in the place of their number here.
    pub(crate) message: u32,
    /// Copies that have not left.
    pub(crate) n_left: u32,
    /// When the last bit of those that have left is out.
    pub(crate) left_ps: u64,
}

/// Packets that are being copied, their numbers used again.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    copied: Vec<Copied>,
    free: Vec<u32>,
}

impl Copies {
    pub(crate) fn add(&mut self, copied: Copied) -> u32 {
        if let Some(number) = self.free.pop() {
            self.copied[number as usize] = copied;
            return number;
        }
        self.copied.push(copied);
        self.copied.len() as u32 - 1
    }

    /// A copy's last bit leaves at `left_ps`: what it is a copy of.
    pub(crate) fn leave(&mut self, number: u32, left_ps: u64) -> Copied {
        let copied = &mut self.copied[number as usize];
        copied.n_left -= 1;
        copied.left_ps = copied.left_ps.max(left_ps);
        if copied.n_left == 0 {
            self.free.push(number);
        }
        *copied
    }
}

#[cfg(test)]
mod tests {
    use super::{Copied, Copies, Held};

    #[test]
    fn the_last_copy_to_leave_frees_the_number_at_the_latest_time() {
        let held = Held { port: 7, lane: 0, blocks: 3, output: 0 };
        let copied = Copied { held, message: 9, n_left: 2, left_ps: 0 };
        let mut copies = Copies::default();
        let (first, second) = (copies.add(copied), copies.add(copied));
        assert_ne!(first, second);
        assert_eq!(copies.leave(first, 50).n_left, 1);
        assert_ne!(copies.add(copied), first, "a copy of it has not left");
        let last = copies.leave(first, 40);
        assert_eq!((last.n_left, last.left_ps), (0, 50));
        assert_eq!(copies.add(copied), first);
    }
}
