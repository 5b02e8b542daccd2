//! Cuts lists into pages. A query reads one row more than a page holds; if it finds that row, there
//! is a next page.

/// Removes the row that follows the page, if the query found as many rows as its limit allows. Returns the position
/// after which the next page begins, which is that of the last row; `None` if there is no next page.
pub(super) fn cut_page<R>(
    rows: &mut Vec<R>,
    limit: i64,
    position_of: impl FnOnce(&R) -> i64,
) -> Option<i64> {
    if i64::try_from(rows.len()).is_ok_and(|found| found < limit) {
        return None;
    }
    rows.pop();
    rows.last().map(position_of)
}
