//! Escapes text for the HTML of the pages.

/// Escapes text, so that it can stand in an element or an attribute.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// Escapes a name and marks it as important, so that it stands out in the sentence around it.
pub fn strong(name: &str) -> String {
    format!("<strong>{}</strong>", escape(name))
}
