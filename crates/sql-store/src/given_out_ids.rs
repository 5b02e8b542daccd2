//! The ids that a database has given out, and how it is kept from giving them out again.

use crate::{LongTransaction, StoreError};

impl LongTransaction {
    /// Leaves out `step` ids of the table `table`: the next one is greater by that much than every id that this
    /// database has given out, and than `others`. On PostgreSQL this stays even if the transaction is rolled back.
    pub async fn leave_out_ids(
        &mut self,
        table: &'static str,
        others: i64,
        step: i64,
    ) -> Result<(), StoreError> {
        let raise = if self.is_postgres() {
            "SELECT setval(sequence, greatest(coalesce(pg_sequence_last_value(sequence), 0), $2) + $3)
                FROM (SELECT pg_get_serial_sequence($1, 'id')::regclass AS sequence) AS named"
        } else {
            self.begin_ids(table).await?;
            "UPDATE sqlite_sequence SET seq = max(seq, $2) + $3 WHERE name = $1 RETURNING seq"
        };
        let raise = self.statement(raise).bind(table).bind(others).bind(step);
        self.fetch::<(i64,)>(raise).await.map(drop)
    }

    /// SQLite has no row for a table into which nothing was ever inserted.
    async fn begin_ids(&mut self, table: &'static str) -> Result<(), StoreError> {
        let begin = "INSERT INTO sqlite_sequence (name, seq)
            SELECT $1, 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = $1) RETURNING seq";
        let begin = self.statement(begin).bind(table);
        self.fetch::<(i64,)>(begin).await.map(drop)
    }
}
