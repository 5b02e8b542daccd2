//! Cuts lists into pages. A query reads one row more than a page holds; if it finds that row, there
//! is a next page.

/// Removes the row that follows a page of this size, and returns true if there was one.
pub(super) fn truncate_page<R>(rows: &mut Vec<R>, size: i64) -> bool {
    let has_next = i64::try_from(rows.len()).is_ok_and(|found| found > size);
    if has_next {
        rows.pop();
    }
    has_next
}
