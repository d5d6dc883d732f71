//! Things by number.

use prefetch_index::prefetch_index;

/// Makes `index` and `index_mut` of a type those of one of its fields, by number.
macro_rules! indexed {
    ($list:ty, $field:ident by $number:ty => $thing:ty $(, $generic:tt)?) => {
        impl $(<$generic>)? std::ops::Index<$number> for $list {
            type Output = $thing;

            #[inline(always)]
            fn index(&self, number: $number) -> &$thing {
                &self.$field[number as usize]
            }
        }

        impl $(<$generic>)? std::ops::IndexMut<$number> for $list {
            #[inline(always)]
            fn index_mut(&mut self, number: $number) -> &mut $thing {
                &mut self.$field[number as usize]
            }
        }
    };
}

pub(crate) use indexed;

/// Things whose numbers are used again.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Pool<T> {
    /// Keep another one; its number.
    pub(crate) fn add(&mut self, thing: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.slots[number as usize] = thing;
            return number;
        }
        self.slots.push(thing);
        self.slots.len() as u32 - 1
    }

    /// Let the number of a thing be used again; the thing stays until it is.
    pub(crate) fn release(&mut self, number: u32) {
        self.free.push(number);
    }

    /// How many are not released.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Every slot, of things that are released too.
    pub(crate) fn slots(&self) -> &[T] {
        &self.slots
    }

    /// Have a thing in the cache soon.
    #[inline(always)]
    pub(crate) fn fetch(&self, number: u32) {
        prefetch_index(&self.slots, number as usize);
    }
}

impl<T: Copy> Pool<T> {
    /// Take a thing out.
    pub(crate) fn remove(&mut self, number: u32) -> T {
        self.release(number);
        self[number]
    }
}

indexed!(Pool<T>, slots by u32 => T, T);
