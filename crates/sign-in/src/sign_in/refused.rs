//! Makes the page for a person who is signed in, but may not open the page that they requested.

use super::{RedirectReason, SignIn};
use crate::{
    html::{escape, strong},
    interstitial::Interstitial,
    request::BrowserRequest,
};
use rolegate_proto::Reason;

impl SignIn {
    /// Returns the page that tells a person why their session does not suffice for this request. It names the person if
    /// `username` is known, and links to signing in and signing out.
    pub fn refused(
        &self,
        request: BrowserRequest<'_>,
        username: Option<&str>,
        reason: Reason,
    ) -> Interstitial {
        let design = self.design(request.headers);
        let origin = self.page_origin();
        let page = self
            .redirect(request, RedirectReason::NotAuthenticated)
            .unwrap_or_else(|| self.url.clone());
        let query = page.find('?').map_or("", |start| &page[start..]);
        let sign_out = format!("{origin}/sign-out{query}");
        let user = strong(username.unwrap_or_default());
        let explanation = match (username, reason) {
            (Some(_), Reason::SecondFactorRequired) => "{refused.second_factor}",
            (Some(_), _) => "{refused.role}",
            (None, _) => "{refused.nobody}",
        };
        let values = [
            ("who", &*design.render(explanation, &[("user", &user)])),
            ("sign_in", &escape(&page)),
            ("sign_out", &escape(&sign_out)),
        ];
        let content = design.render(include_str!("../refused.html"), &values);
        Interstitial::new(design, &origin, "{refused.title}", &content)
    }
}

#[cfg(test)]
mod tests {
    use super::{BrowserRequest, Interstitial, SignIn};
    use http::HeaderMap;
    use rolegate_proto::Reason;

    fn sign_in(url: &str) -> SignIn {
        SignIn::new(url.to_owned(), None, "".parse().expect("none"))
    }

    fn refused(url: &str, username: Option<&str>) -> Interstitial {
        refused_for(Reason::RoleInsufficient, url, username)
    }

    fn refused_for(reason: Reason, url: &str, username: Option<&str>) -> Interstitial {
        let headers = HeaderMap::from_iter([(
            "sec-fetch-mode".parse().expect("a name"),
            "navigate".parse().expect("a value"),
        )]);
        let request = BrowserRequest {
            method: Some("GET"),
            scheme: Some("https"),
            host: Some("app.example.org"),
            path: Some("/a?b=\"c"),
            headers: &headers,
        };
        sign_in(url).refused(request, username, reason)
    }

    #[test]
    fn a_refused_person_gets_links_to_the_own_host_or_to_that_of_the_page() {
        for (url, host, back, source) in [
            ("/sign-in", "", "%2Fa%3Fb%3D%22c", "'self'"),
            (
                "https://auth.example.org/sign-in",
                "https://auth.example.org",
                "https%3A%2F%2Fapp.example.org%2Fa%3Fb%3D%22c",
                "https://auth.example.org",
            ),
        ] {
            let page = refused(url, Some("ann"));
            for part in [
                format!(r#"href="{host}/sign-in?return={back}" target="_top""#),
                format!(r#"href="{host}/sign-out?return={back}" target="_top""#),
                format!(r#"href="{host}/sign-in/base.css""#),
                format!(r#"src="{host}/sign-in/logo""#),
                "signed in as <strong>ann</strong>,".to_owned(),
            ] {
                assert!(page.html.contains(&part), "{part}: {}", page.html);
            }
            for never in ["<form", "<script", "style=", "{"] {
                assert!(!page.html.contains(never), "{never}: {}", page.html);
            }
            let [.., (name, policy), _] = page.headers();
            let expected = format!(
                "default-src 'none'; style-src {source}; img-src {source}; base-uri 'none'; form-action 'none'"
            );
            assert_eq!((name, policy), ("content-security-policy", &*expected));
        }
        assert!(
            refused("/sign-in", None)
                .html
                .contains("<p>You may not open this page.</p>")
        );
    }

    #[test]
    fn an_admin_without_a_second_factor_learns_what_is_missing() {
        let html = refused_for(Reason::SecondFactorRequired, "/sign-in", Some("root")).html;
        let part = "<strong>root</strong>, who needs a second factor to open this page.";
        assert!(html.contains(part), "{html}");
    }

    #[test]
    fn a_name_is_text_and_nothing_else() {
        let html = refused("/sign-in", Some("<b>\"'&")).html;
        assert!(
            html.contains("<strong>&lt;b&gt;&quot;&#39;&amp;</strong>"),
            "{html}"
        );
    }
}
