//! How much text around a range must be scanned.

use crate::place::{kubernetes, pem};
use std::ops::Range;

/// Bytes before and after a range that can affect its masks: the longest block of a private key, or a Kubernetes
/// object around its kind, and the longest token at either end.
pub const CONTEXT: usize = 64 * 1024;

const _: () = assert!(CONTEXT >= pem::MAX_BLOCK + 16 * 1024 && CONTEXT >= 2 * kubernetes::MAX_OBJECT);

/// Returns the part of a text of `length` bytes to scan, so that the secrets in `range` are the same as in a scan of
/// the whole text.
///
/// There is one exception. A value that is a secret only because it also occurs elsewhere is found only if that
/// occurrence is in the window. A caller that has scanned the whole text passes its secrets to
/// [`mask_range`](crate::mask_range) instead.
pub fn window(length: usize, range: Range<usize>) -> Range<usize> {
    range.start.saturating_sub(CONTEXT)..range.end.saturating_add(CONTEXT).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_with_the_text() {
        assert_eq!(window(10, 2..4), 0..10);
        assert_eq!(window(1_000_000, 200_000..200_010), 200_000 - CONTEXT..200_010 + CONTEXT);
        assert_eq!(window(1_000_000, 999_999..1_000_000).end, 1_000_000);
    }
}
