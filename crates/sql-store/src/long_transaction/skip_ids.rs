//! Skips ids, so that a restored database does not give out those again that it has lost.

use super::LongTransaction;
use crate::{StoreError, unix_millis};

impl LongTransaction {
    /// Skips at least `count` ids of a table: the next id is greater by more than that than the last one of this database,
    /// and than `at_least`. How many exactly depends on the time, so that two restores of one backup skip differently. On
    /// PostgreSQL this stays even if the transaction is rolled back.
    pub async fn skip_ids(
        &mut self,
        table: &'static str,
        at_least: i64,
        count: i64,
    ) -> Result<(), StoreError> {
        let skip = if self.is_postgres() {
            "SELECT setval(sequence, greatest(coalesce(pg_sequence_last_value(sequence), 0), $2) + $3)
                FROM (SELECT pg_get_serial_sequence($1, 'id')::regclass AS sequence) AS named"
        } else {
            self.add_sequence(table).await?;
            "UPDATE sqlite_sequence SET seq = max(seq, $2) + $3 WHERE name = $1 RETURNING seq"
        };
        let skip = self
            .statement(skip)
            .bind(table)
            .bind(at_least)
            .bind(count + unix_millis() % count);
        self.fetch::<(i64,)>(skip).await.map(drop)
    }

    /// Adds the table to `sqlite_sequence`, where SQLite enters it only at the first insert.
    async fn add_sequence(&mut self, table: &'static str) -> Result<(), StoreError> {
        let add = "INSERT INTO sqlite_sequence (name, seq)
            SELECT $1, 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = $1) RETURNING seq";
        let add = self.statement(add).bind(table);
        self.fetch::<(i64,)>(add).await.map(drop)
    }
}
