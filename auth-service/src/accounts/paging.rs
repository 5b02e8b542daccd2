//! Cuts lists into pages. A query reads one row more than a page holds; if it finds that row, there
//! is a next page.

use super::error::AccountError;
use rolegate_proto::limits::page_size;

/// A request for a page of a list by ascending id.
#[derive(Clone, Copy, Default)]
pub(crate) struct PageRequest {
    /// The `page_size` of the request, as the contract defines it.
    pub(crate) size: i32,
    /// Restricts the page to ids greater than this; 0 for the first page.
    pub(crate) after: i64,
}

/// A page of a list, by ascending id.
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// The `after` of the request for the next page; `None` on the last page.
    pub(crate) next_after: Option<i64>,
}

impl PageRequest {
    /// Checks the request, and returns the limit of the query.
    pub(super) fn limit(self) -> Result<i64, AccountError> {
        let size = page_size(self.size)
            .ok_or_else(|| AccountError::invalid_request("page_size must be 0 to 200"))?;
        if self.after < 0 {
            return Err(AccountError::invalid_request("after must not be negative"));
        }
        Ok(i64::from(size) + 1)
    }
}

impl<T> Page<T> {
    /// Cuts the page from the rows of a query with this limit.
    pub(super) fn cut(mut rows: Vec<T>, limit: i64, id_of: impl FnOnce(&T) -> i64) -> Self {
        let next_after = cut_page(&mut rows, limit, id_of);
        Self {
            items: rows,
            next_after,
        }
    }
}

/// Removes the row that follows the page, if the query found as many rows as its limit allows. Returns the position
/// after which the next page begins, which is that of the last row; `None` if there is no next page.
pub(super) fn cut_page<R, P>(
    rows: &mut Vec<R>,
    limit: i64,
    position_of: impl FnOnce(&R) -> P,
) -> Option<P> {
    if i64::try_from(rows.len()).is_ok_and(|found| found < limit) {
        return None;
    }
    rows.pop();
    rows.last().map(position_of)
}
