//! Answers kept by address: the same places are asked for again and again.

use std::cell::RefCell;
use std::collections::HashMap;

/// When so many answers are kept, all are forgotten: simple, and cheap beside what filled it.
const MOST: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Memo<T> {
    answers: RefCell<HashMap<u64, T>>,
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self {
            answers: RefCell::new(HashMap::new()),
        }
    }
}

impl<T: Clone> Memo<T> {
    pub(super) fn get_or(&self, key: u64, find: impl FnOnce() -> T) -> T {
        if let Some(known) = self.answers.borrow().get(&key) {
            return known.clone();
        }
        // Not borrowed while `find` runs, which may ask again.
        let answer = find();
        let mut answers = self.answers.borrow_mut();
        if answers.len() >= MOST {
            answers.clear();
        }
        answers.insert(key, answer.clone());
        answer
    }

    pub(super) fn forget(&mut self) {
        self.answers.get_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_once_and_the_memo_stays_bounded() {
        let memo = Memo::default();
        assert_eq!(memo.get_or(1, || 'a'), 'a');
        assert_eq!(memo.get_or(1, || 'b'), 'a');
        for key in 0..2 * MOST as u64 {
            memo.get_or(key, || 'c');
        }
        assert!(memo.answers.borrow().len() <= MOST);
    }
}
