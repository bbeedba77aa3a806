//! Addresses that the system lets this process have, which `ulimit -v` bounds.

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Returns the bytes of addresses that `ulimit -v` leaves this process; `None` where it sets no bound.
pub fn addresses_left() -> Option<u64> {
    let limit = limit(&std::fs::read_to_string("/proc/self/limits").ok()?)?;
    let used = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = used.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(pages * PAGE))
}

/// The soft limit in a text of `/proc/PID/limits`; `None` for "unlimited".
fn limit(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::limit;

    #[test]
    fn the_soft_limit_is_read() {
        let text = |soft| {
            format!("Limit  Soft Limit  Hard Limit  Units\nMax address space         {soft}   unlimited   bytes\n")
        };
        assert_eq!(limit(&text("2147483648")), Some(2 << 30));
        assert_eq!(limit(&text("unlimited")), None);
        assert_eq!(limit(""), None);
    }
}
