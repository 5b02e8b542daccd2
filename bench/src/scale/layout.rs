//! Divides the cores between the services, PostgreSQL and the load generator.

use crate::cores;
use std::{fmt, iter::successors};

/// The cores of the services, of PostgreSQL and of the load generator. If there are too few cores, some are in several
/// sets.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) services: Vec<usize>,
    pub(super) database: Vec<usize>,
    pub(super) generator: Vec<usize>,
}

impl Layout {
    /// Returns the layouts with 1, 2, 4 … cores for the services.
    pub(super) fn all(cores: &[usize]) -> Vec<Self> {
        let counts = successors(Some(1), |count| Some(count * 2));
        counts
            .take_while(|count| *count <= cores.len())
            .map(|count| Self::of(cores, count))
            .collect()
    }

    /// Returns the layout with `count` cores for the services.
    ///
    /// A decision costs wrk a third, and PostgreSQL an eighth of the CPU time that it costs the services. So wrk gets
    /// half as many cores as the services, and PostgreSQL a quarter.
    fn of(cores: &[usize], count: usize) -> Self {
        let (services, rest) = cores.split_at(count);
        let (generator, database) = (count.div_ceil(2), count.div_ceil(4));
        let [services, generator, database] = if rest.len() >= generator + database {
            let (generator, rest) = rest.split_at(generator);
            [services, generator, &rest[..database]]
        } else if rest.is_empty() {
            [cores; 3]
        } else {
            [services, rest, rest]
        };
        Self {
            services: services.to_vec(),
            database: database.to_vec(),
            generator: generator.to_vec(),
        }
    }

    /// Returns a text that says which programs share cores in this layout, so that readers know what is not measured
    /// separately.
    pub(super) fn shared(&self) -> &'static str {
        if self.services == self.generator {
            "all share them"
        } else if self.database == self.generator {
            "PostgreSQL and wrk share theirs"
        } else {
            "none"
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [services, database, generator] =
            [&self.services, &self.database, &self.generator].map(|set| cores::list(set));
        write!(
            f,
            "services on cores {services}, PostgreSQL on {database}, wrk on {generator}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Layout;

    fn sets(cores: usize) -> Vec<String> {
        let cores: Vec<usize> = (0..cores).collect();
        let all = Layout::all(&cores);
        all.iter()
            .map(|layout| format!("{layout}; shared: {}", layout.shared()))
            .collect()
    }

    #[test]
    fn sets_are_disjoint_where_there_are_enough_cores() {
        let eight = sets(8);
        assert_eq!(
            eight[..3],
            [
                "services on cores 0, PostgreSQL on 2, wrk on 1; shared: none",
                "services on cores 0-1, PostgreSQL on 3, wrk on 2; shared: none",
                "services on cores 0-3, PostgreSQL on 6, wrk on 4-5; shared: none",
            ]
        );
        assert_eq!(
            sets(64)[5],
            "services on cores 0-31, PostgreSQL on 48-55, wrk on 32-47; shared: none"
        );
    }

    #[test]
    fn sets_that_share_cores_say_so() {
        let two = [
            "services on cores 0, PostgreSQL on 1, wrk on 1; shared: PostgreSQL and wrk share theirs",
            "services on cores 0-1, PostgreSQL on 0-1, wrk on 0-1; shared: all share them",
        ];
        assert_eq!(sets(2), two);
        assert_eq!(
            sets(1),
            ["services on cores 0, PostgreSQL on 0, wrk on 0; shared: all share them"]
        );
    }
}
