//! The notice that a program prints on stdout when it begins to serve.

use crate::{logs::LogFormat, output::print};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write as _, net::SocketAddr};

const STOP: &str = "Ctrl-C stops";

/// The notice, which says what a program serves, and at which addresses.
#[derive(Clone, Debug)]
pub struct Notice {
    headline: String,
    listeners: Vec<ListenerLine>,
    remarks: Vec<String>,
}

#[derive(Clone, Debug)]
struct ListenerLine {
    name: &'static str,
    url: String,
    purpose: String,
}

impl Notice {
    /// Starts a notice. The `headline` names the program, its version, and what it depends on.
    pub fn new(headline: impl Into<String>) -> Self {
        Self {
            headline: headline.into(),
            listeners: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Adds a listener with its URL and the purpose of its address.
    #[must_use]
    pub fn listener(mut self, name: &'static str, url: String, purpose: &str) -> Self {
        self.listeners.push(ListenerLine {
            name,
            url,
            purpose: purpose.to_owned(),
        });
        self
    }

    /// Adds a listener without TLS. `None` is shown as off.
    #[must_use]
    pub fn http(self, name: &'static str, address: Option<SocketAddr>, purpose: &str) -> Self {
        let url = address.map_or_else(|| "off".to_owned(), |address| format!("http://{address}"));
        self.listener(name, url, purpose)
    }

    /// Adds a remark of one or more lines.
    #[must_use]
    pub fn remark(mut self, text: impl Into<String>) -> Self {
        self.remarks.push(text.into());
        self
    }

    /// Prints the notice in the format of the log: lines for people, or one line of JSON.
    pub fn print(&self, format: LogFormat) {
        match format {
            LogFormat::Pretty => print(&self.text()),
            LogFormat::Json => print(&self.json().to_string()),
        }
    }

    /// Returns the lines for people.
    fn text(&self) -> String {
        let mut text = format!("{}\n", self.headline);
        for ListenerLine { name, url, purpose } in &self.listeners {
            let _ = writeln!(text, "  {name:<7} {url:<24} {purpose}");
        }
        for remark in self.remarks.iter().map(String::as_str).chain([STOP]) {
            let _ = writeln!(text, "{remark}");
        }
        text
    }

    fn json(&self) -> Value {
        let listeners: BTreeMap<_, _> = self
            .listeners
            .iter()
            .map(|listener| (listener.name, &listener.url))
            .collect();
        json!({ "message": self.headline, "listeners": listeners, "remarks": self.remarks })
    }
}

#[cfg(test)]
mod tests {
    use super::Notice;
    use serde_json::json;

    fn notice() -> Notice {
        let address = "127.0.0.1:1".parse().ok();
        let notice = Notice::new("Sample 1").http("bearer", address, "tokens");
        notice.http("basic", None, "Basic").remark("Posts: off")
    }

    #[test]
    fn text_has_a_line_for_each_listener_and_remark() {
        let expected = "Sample 1\n  bearer  http://127.0.0.1:1       tokens\n  basic   off                      \
                        Basic\nPosts: off\nCtrl-C stops\n";
        assert_eq!(notice().text(), expected);
    }

    #[test]
    fn json_has_the_listeners_by_name() {
        let expected = json!({
            "message": "Sample 1",
            "listeners": { "bearer": "http://127.0.0.1:1", "basic": "off" },
            "remarks": ["Posts: off"],
        });
        assert_eq!(notice().json(), expected);
    }
}
