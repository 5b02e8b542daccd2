//! `audit list`: prints the newest rows of the record, for people.

use super::unreadable::UnreadableRows;
use crate::{
    audit::{AuditRow, EVENTS, EventGroup},
    commands::{
        terminal_text::{escape, quote, quote_unless_word},
        timestamp::{parse_time, rfc3339},
    },
    store::{AuditFilter, MAX_PAGE_ROWS, UserStore},
};
use clap::Args;
use rolegate_program::{
    failure::Failure,
    output::print,
    settings::{SettingError, number_between},
};

/// Selects the rows to list.
#[derive(Args, Debug)]
pub struct ListArguments {
    /// List only what happened to the user with this id
    #[arg(long, value_parser = number_between(1, i64::MAX))]
    user_id: Option<i64>,
    /// List only what the user with this id did
    #[arg(long, value_parser = number_between(1, i64::MAX))]
    actor_id: Option<i64>,
    /// List only this event, such as `role_changed`
    #[arg(long, default_value = "", hide_default_value = true)]
    event: String,
    /// List only what happened to users who had exactly this name then
    #[arg(long, default_value = "", hide_default_value = true)]
    username: String,
    /// List only what users did who had exactly this name then
    #[arg(long, default_value = "", hide_default_value = true)]
    actor: String,
    /// List only events of this group: sign-ins, changes or refusals
    #[arg(long, value_parser = parse_events, conflicts_with = "event")]
    events: Option<EventGroup>,
    /// List only entries from this time on, such as 2026-03-01 or 2026-03-01T00:00:00Z
    #[arg(long, value_parser = parse_time)]
    since: Option<i64>,
    /// List only entries from before this time
    #[arg(long, value_parser = parse_time)]
    before: Option<i64>,
    /// List at most this many entries, 1 to 1,000,000
    #[arg(long, default_value = "50", value_parser = number_between(1_i64, 1_000_000))]
    limit: i64,
}

fn parse_events(text: &str) -> Result<EventGroup, &'static str> {
    match text {
        "sign-ins" => Ok(EventGroup::SignIns),
        "changes" => Ok(EventGroup::Changes),
        "refusals" => Ok(EventGroup::Refusals),
        _ => Err("must be sign-ins, changes or refusals"),
    }
}

/// Prints a line for each selected row, the newest first. Rows that cannot be read are reported on
/// stderr, and the command then fails. No read of the database stays open while it prints, because
/// the reader of the output may be slow.
pub(super) async fn run(store: &UserStore, arguments: ListArguments) -> Result<(), Failure> {
    let event = &*arguments.event;
    if !event.is_empty() && !EVENTS.contains(&event) {
        let problem = format!("must be one of: {}", EVENTS.join(", "));
        return Err(SettingError::new("EVENT", problem).into());
    }
    let mut filter = AuditFilter {
        user_id: arguments.user_id,
        actor_id: arguments.actor_id,
        event: arguments.event,
        username: arguments.username,
        actor: arguments.actor,
        events: arguments.events,
        since: arguments.since,
        before: arguments.before,
        before_revision: None,
        limit: 0,
    };
    let mut unreadable = UnreadableRows::default();
    let mut remaining = arguments.limit;
    while remaining > 0 {
        filter.limit = remaining.min(MAX_PAGE_ROWS);
        let page = store.audit(&filter).await?;
        for row in &page {
            match &row.content {
                Ok(content) => print(&format_row(content)),
                Err(problem) => unreadable.name(row.revision, problem),
            }
        }
        let Some(last) = page.last() else { break };
        filter.before_revision = Some(last.revision);
        remaining -= filter.limit;
    }
    unreadable.finish()
}

/// Formats a row, with names in quotes. Whatever text the row contains, the result is one line
/// without invisible characters.
fn format_row(row: &AuditRow) -> String {
    let user = format_person(row.user_id, row.username.as_deref());
    let actor = format_person(row.actor_id, row.actor.as_deref());
    let address = row.client_address.as_deref().unwrap_or("-");
    format!(
        "{:>8}  {}  {:<16}  user {user}  by {actor}  from {}  {}",
        row.revision,
        rfc3339(row.at),
        quote_unless_word(&row.event),
        quote_unless_word(address),
        escape(&row.readable_details()),
    )
}

fn format_person(id: Option<i64>, name: Option<&str>) -> String {
    match (id, name) {
        (None, _) => "-".to_owned(),
        (Some(id), Some(name)) => format!("{id} {}", quote(name)),
        (Some(id), None) => id.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::format_row;
    use crate::audit::{AuditRow, EVENTS};
    use std::collections::BTreeSet;

    #[test]
    fn the_events_of_the_filter_are_those_that_the_pages_name() {
        let texts = include_str!("../../../../crates/sign-in/texts/en.json");
        let mut shown: BTreeSet<&str> = texts
            .lines()
            .filter_map(|line| line.trim().strip_prefix("\"event.")?.split('"').next())
            .collect();
        // This event replaces a row that cannot be read.
        assert!(shown.remove("audit_unreadable"));
        assert_eq!(shown, BTreeSet::from(EVENTS));
    }

    fn row() -> AuditRow {
        AuditRow {
            revision: 7,
            at: 1_800_000_000,
            event: "role_changed".to_owned(),
            user_id: Some(2),
            username: Some("o\"neil é".to_owned()),
            actor_id: Some(1),
            actor: Some("admin".to_owned()),
            client_address: Some("127.0.0.1".to_owned()),
            details: r#"{"from":"user","to":"author"}"#.to_owned(),
            ..AuditRow::default()
        }
    }

    #[test]
    fn a_row_is_shown_as_the_service_writes_it() {
        let shown = "       7  2027-01-15T08:00:00Z  role_changed      user 2 \"o\\\"neil é\"  \
                     by 1 \"admin\"  from 127.0.0.1  {\"from\":\"user\",\"to\":\"author\"}";
        assert_eq!(format_row(&row()), shown);
        let without_people = AuditRow {
            user_id: None,
            username: None,
            actor_id: None,
            actor: None,
            client_address: None,
            ..row()
        };
        let shown = "       7  2027-01-15T08:00:00Z  role_changed      user -  by -  from -  \
                     {\"from\":\"user\",\"to\":\"author\"}";
        assert_eq!(format_row(&without_people), shown);
    }

    #[test]
    fn no_text_of_a_row_forges_a_line_or_reaches_the_terminal_as_it_is() {
        let forged = "x\n       8  2027-01-15T08:00:00Z  login_ok\u{1b}[2J\u{202e}\u{3164}";
        let texts: [fn(&mut AuditRow) -> &mut String; 5] = [
            |row| &mut row.event,
            |row| row.username.get_or_insert_default(),
            |row| row.actor.get_or_insert_default(),
            |row| row.client_address.get_or_insert_default(),
            |row| &mut row.details,
        ];
        for text in texts {
            let mut row = row();
            *text(&mut row) = forged.to_owned();
            let shown = format_row(&row);
            assert!(shown.contains("[2J"), "{shown}");
            let hidden = ['\n', '\u{1b}', '\u{202e}', '\u{3164}'];
            assert!(!shown.contains(hidden), "{shown:?}");
        }
    }
}
