//! Packets that leave a switch by several ports: their buffer is free when the last copy has left.

use crate::state::buffer::occupancy::Held;
use crate::state::pool::Pool;

/// A packet that is being copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copied {
    /// The part that it holds of the input buffer it came into.
    pub(crate) held: Held,
    /// The value that its copies carry in the place of their number here.
    pub(crate) message: u32,
    /// Copies that have not left.
    pub(crate) n_left: u32,
    /// When the last bit of those that have left is out.
    pub(crate) left_ps: u64,
}

impl Pool<Copied> {
    /// A copy's last bit leaves at `left_ps`: what it is a copy of.
    pub(crate) fn leave(&mut self, number: u32, left_ps: u64) -> Copied {
        let copied = &mut self[number];
        copied.n_left -= 1;
        copied.left_ps = copied.left_ps.max(left_ps);
        let copied = *copied;
        if copied.n_left == 0 {
            self.release(number);
        }
        copied
    }
}

#[cfg(test)]
mod tests {
    use super::{Copied, Held, Pool};

    #[test]
    fn the_last_copy_to_leave_frees_the_number_at_the_latest_time() {
        let held = Held { port: 7, lane: 0, blocks: 3, output: 0 };
        let copied = Copied { held, message: 9, n_left: 2, left_ps: 0 };
        let mut copies = Pool::default();
        let (first, second) = (copies.add(copied), copies.add(copied));
        assert_ne!(first, second);
        assert_eq!(copies.leave(first, 50).n_left, 1);
        assert_ne!(copies.add(copied), first, "a copy of it has not left");
        let last = copies.leave(first, 40);
        assert_eq!((last.n_left, last.left_ps), (0, 50));
        assert_eq!(copies.add(copied), first);
    }
}
