//! Random walks of people through the sign-in page, in a small model of a browser. Whatever they
//! do, the page never redirects them in a circle, and the right password leads where they wanted to
//! go. `WALK_SEED` repeats a walk.

use super::browser::Proxies;
use crate::sign_in::{OWN_PAGE, form_of, submit};
use e2e::{Api, TestApp, TestSetup, TestUser, for_one_deployment};
use futures_util::future::join_all;
use reqwest::{Method, Url};
use std::env;

for_one_deployment!(
    nobody_walks_in_a_circle_where_each_host_has_its_cookie,
    nobody_walks_in_a_circle_where_a_domain_has_one,
);

const WALKS: u64 = 500;
const STEPS: usize = 10;
/// The most redirects in a row that the test accepts. A browser gives up after 20.
const MAX_REDIRECTS: usize = 8;
/// How many walks share a user, because a user may create only 140 sessions a minute.
const WALKS_OF_A_USER: u64 = 6;

const OWN_HOST: Site = Site {
    page: "app.example.org",
    cookie: "__Host-rolegate",
    cookie_domain: None,
};
const DOMAIN: Site = Site {
    page: "auth.example.org",
    cookie: "__Secure-rolegate",
    cookie_domain: Some("example.org"),
};

/// A deployment with an application at the host `app` and, with a cookie for the domain, another
/// one at `other`.
struct Site {
    /// The host of the sign-in page.
    page: &'static str,
    /// The name of the cookie for applications.
    cookie: &'static str,
    cookie_domain: Option<&'static str>,
}

struct World {
    site: Site,
    app: TestApp,
    proxies: Proxies,
    users: Vec<TestUser>,
}

struct Cookie {
    name: String,
    value: String,
    /// The host that receives the cookie, or the domain if all hosts below it receive it.
    host: String,
}

/// The page that the browser shows.
#[derive(Clone)]
struct Shown {
    url: Url,
    body: String,
}

/// A person with a browser.
struct Walker<'a> {
    world: &'a World,
    seed: u64,
    random: u64,
    jar: Vec<Cookie>,
    history: Vec<Shown>,
    log: Vec<String>,
}

async fn nobody_walks_in_a_circle_where_each_host_has_its_cookie(setup: TestSetup) {
    walk_all(OWN_HOST, setup).await;
}

async fn nobody_walks_in_a_circle_where_a_domain_has_one(setup: TestSetup) {
    let setup = setup
        .with("COOKIE_DOMAIN", "example.org")
        .with("SIGN_IN_URL", "https://auth.example.org/sign-in")
        .with("RETURN_ORIGINS", "https://*.example.org");
    walk_all(DOMAIN, setup).await;
}

async fn walk_all(site: Site, setup: TestSetup) {
    let app = setup.with("LOGIN_FAILURE_LIMIT", "0").start().await;
    let proxies = Proxies::of(&app).await;
    let chosen = env::var("WALK_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seeds = chosen.map_or(0..WALKS, |seed| seed..seed + 1);
    let mut users = Vec::new();
    for number in 0..=WALKS / WALKS_OF_A_USER + 1 {
        users.push(app.user(&format!("walker{number}")).await);
    }
    let world = World {
        site,
        app,
        proxies,
        users,
    };
    let seeds: Vec<_> = seeds.collect();
    for some in seeds.chunks(10) {
        join_all(some.iter().map(|&seed| walk(&world, seed))).await;
    }
}

async fn walk(world: &World, seed: u64) {
    let mut walker = Walker {
        world,
        seed,
        random: seed,
        jar: Vec::new(),
        history: Vec::new(),
        log: Vec::new(),
    };
    walker.open_application().await;
    for _ in 0..STEPS {
        match walker.choose(14) {
            0 | 1 => walker.open_application().await,
            2 => walker.open_bookmark_of_page().await,
            3 => walker.go_back().await,
            4 => walker.send_form_of_application().await,
            5 => walker.end_sessions_elsewhere().await,
            6 => walker.sign_out().await,
            7 => walker.receive_dead_cookie(),
            8 => walker.jar.clear(),
            9 => walker.go_on().await,
            10 => walker.submit("wrong").await,
            _ => walker.submit("right").await,
        }
    }
    // Whatever happened before, a person who deletes all cookies can sign in.
    walker.jar.clear();
    walker.open_application().await;
    let wanted = walker.shown().url.fragment().map(str::to_owned);
    walker.submit("right").await;
    assert_eq!(walker.shown().body, "application", "{}", walker.story());
    let fragment = walker.shown().url.fragment().map(str::to_owned);
    assert_eq!(fragment, wanted, "{}", walker.story());
}

impl Walker<'_> {
    /// Returns a random number below `count`, by `SplitMix64`.
    fn choose(&mut self, count: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % count
    }

    fn story(&self) -> String {
        format!("WALK_SEED={}\n{}", self.seed, self.log.join("\n"))
    }

    fn shown(&self) -> Shown {
        self.history.last().expect("a page").clone()
    }

    fn is_at_page(&self) -> bool {
        self.shown().url.path() == "/sign-in"
    }

    async fn open_application(&mut self) {
        let hosts = if self.world.site.cookie_domain.is_some() {
            &["app", "other"][..]
        } else {
            &["app"]
        };
        let host = hosts[usize::try_from(self.choose(hosts.len() as u64)).expect("small")];
        let path = [
            "/",
            "/reports?month=5&year=2026",
            "/reports?month=5#/silences/new",
            "/#/a?b",
            "/console/",
            "/account",
        ][usize::try_from(self.choose(6)).expect("small")];
        let url = format!("https://{host}.example.org{path}");
        let url = Url::parse(&url).expect("a URL");
        self.log.push(format!("opens {url}"));
        self.navigate(Method::GET, url.clone(), None).await;
        let shown = self.shown();
        assert!(
            shown.url == url || self.is_at_page(),
            "at {}\n{}",
            shown.url,
            self.story()
        );
        assert_eq!(shown.url.fragment(), url.fragment(), "{}", self.story());
    }

    async fn open_bookmark_of_page(&mut self) {
        let queries = [
            "",
            "?return=/x",
            "?return=%2F%23%2Fa",
            "?return=https://evil.example/",
        ];
        let query = queries[usize::try_from(self.choose(4)).expect("small")];
        let url = format!("https://{}/sign-in{query}", self.world.site.page);
        self.log.push(format!("opens {url}"));
        let url = Url::parse(&url).expect("a URL");
        self.navigate(Method::GET, url.clone(), None).await;
        assert_eq!(
            self.shown().url,
            url,
            "it never leads on by itself\n{}",
            self.story()
        );
    }

    async fn go_back(&mut self) {
        if self.history.len() < 2 {
            return;
        }
        self.history.pop();
        let url = self.history.pop().expect("a page").url;
        self.log.push(format!("goes back to {url}"));
        self.navigate(Method::GET, url, None).await;
    }

    async fn send_form_of_application(&mut self) {
        let shown = self.shown();
        if shown.body != "application" {
            return;
        }
        let url = shown.url.join("/save?a=b").expect("a URL");
        self.log.push(format!("sends a form to {url}"));
        self.navigate(Method::POST, url.clone(), Some("a=b".to_owned()))
            .await;
        if self.is_at_page() {
            let body = self.shown().body;
            assert!(
                body.contains("What you sent was not saved."),
                "{body}\n{}",
                self.story()
            );
            assert!(
                !self.wanted().path().starts_with("/save"),
                "{}",
                self.story()
            );
        }
    }

    /// Ends the sessions. Their cookies stay in the browser.
    async fn end_sessions_elsewhere(&mut self) {
        self.log.push("is signed out elsewhere".to_owned());
        let page = self.world.site.page;
        let cookies = self.cookies_of(page);
        let headers = [
            OWN_PAGE,
            ("host", page),
            ("x-forwarded-proto", "https"),
            ("cookie", &cookies),
        ];
        let ended = submit(&self.world.app.bearer, "/sign-out", "", &headers).await;
        ended.expect(303);
    }

    async fn sign_out(&mut self) {
        let url = format!("https://{}/sign-out", self.world.site.page);
        self.log.push("signs out".to_owned());
        let url = Url::parse(&url).expect("a URL");
        self.navigate(Method::GET, url.clone(), None).await;
        self.navigate(Method::POST, url, Some(String::new())).await;
    }

    /// Adds a cookie without a valid session, as a change of the settings or another host of the
    /// domain may leave it.
    fn receive_dead_cookie(&mut self) {
        self.log.push("has a dead cookie".to_owned());
        let prefix = if self.world.site.cookie_domain.is_some() {
            "rgd"
        } else {
            "rgs"
        };
        let number = self.choose(4);
        self.jar.push(Cookie {
            name: self.world.site.cookie.to_owned(),
            value: format!("{prefix}_{number:043}"),
            host: "example.org".to_owned(),
        });
    }

    /// Returns the field `return` in the form of the page.
    fn field(&self) -> String {
        let body = self.shown().body;
        let field = body.split("name=\"return\" value=\"").nth(1);
        let value = field.and_then(|it| it.split('"').next());
        let value = value.unwrap_or_default().replace("&amp;", "&");
        value.replace("&#39;", "'")
    }

    /// Returns the address that the form of the page leads to.
    fn wanted(&self) -> Url {
        let field = self.field();
        let value = if field.is_empty() { "/" } else { &field };
        let here = self.shown().url;
        let mut wanted = here.join(value).expect("a URL");
        if wanted.fragment().is_none() {
            wanted.set_fragment(here.fragment());
        }
        wanted
    }

    async fn go_on(&mut self) {
        let shown = self.shown();
        if !self.is_at_page() || !shown.body.contains("name=\"go_on\"") {
            return;
        }
        let wanted = self.wanted();
        self.log.push(format!("goes on to {wanted}"));
        let form = form_of("", "", &self.field()) + "&go_on=";
        self.navigate(Method::POST, shown.url, Some(form)).await;
    }

    async fn submit(&mut self, password: &str) {
        let shown = self.shown();
        if !self.is_at_page() {
            return;
        }
        let wanted = self.wanted();
        let index = self.seed / WALKS_OF_A_USER + self.choose(2);
        let user = &self.world.users[usize::try_from(index).expect("small")];
        let is_right = password == "right";
        let password = if is_right { &user.password } else { password };
        self.log
            .push(format!("signs in as {} (right: {is_right})", user.username));
        let form = form_of(&user.username, password, &self.field());
        self.navigate(Method::POST, shown.url, Some(form)).await;
        let now = self.shown();
        if is_right {
            assert_eq!(now.url, wanted, "\n{}", self.story());
        } else {
            assert!(
                now.body.contains("Invalid username or password."),
                "{}",
                self.story()
            );
        }
    }

    /// Follows redirects as browsers do: with GET, and with the same fragment unless the redirect
    /// names another one.
    async fn navigate(&mut self, mut method: Method, mut url: Url, mut form: Option<String>) {
        for _ in 0..MAX_REDIRECTS {
            let (location, body) = self.request(&method, &url, form.take()).await;
            let Some(location) = location else {
                self.history.push(Shown { url, body });
                return;
            };
            let fragment = url.fragment().map(str::to_owned);
            url = url.join(&location).expect("a URL");
            if url.fragment().is_none() {
                url.set_fragment(fragment.as_deref());
            }
            self.log.push(format!("  is led to {url}"));
            method = Method::GET;
        }
        panic!("a loop\n{}", self.story());
    }

    /// Sends one request through the proxy of its host. Returns where it leads and what it shows.
    async fn request(
        &mut self,
        method: &Method,
        url: &Url,
        form: Option<String>,
    ) -> (Option<String>, String) {
        let World {
            site, app, proxies, ..
        } = self.world;
        let host = url.host_str().expect("a host").to_owned();
        let target = path_and_query(url);
        let is_of_page = ["/sign-in", "/sign-out"].contains(&url.path()) && host == site.page;
        let is_asked = !is_of_page && host != "auth.example.org";
        let api: &Api = if is_asked {
            &proxies.forward
        } else {
            &app.bearer
        };
        let mut request = if is_asked {
            api.request(Method::GET, "/authorize")
                .header("x-forwarded-method", method.as_str())
                .header("x-forwarded-host", &host)
                .header("x-forwarded-uri", &target)
        } else {
            let request = api.request(method.clone(), &target).header("host", &host);
            if host == "app.example.org" {
                request.header("rolegate-page", "application")
            } else {
                request
            }
        };
        let from = self.history.last().map(|shown| &shown.url);
        let is_own = from.is_some_and(|from| from.origin() == url.origin());
        let fetch_site = if is_own { "same-origin" } else { "cross-site" };
        request = request
            .header("x-forwarded-proto", "https")
            .header("x-forwarded-for", "203.0.113.9")
            .header("sec-fetch-mode", "navigate")
            .header("sec-fetch-site", fetch_site)
            .header("cookie", self.cookies_of(&host));
        if let Some(from) = from.filter(|_| is_own) {
            let referer = format!("https://{host}{}", path_and_query(from));
            request = request.header("referer", referer);
        }
        if let Some(form) = form.filter(|_| !is_asked) {
            let form_type = "application/x-www-form-urlencoded";
            request = request.header("content-type", form_type).body(form);
        }
        let response = api.send(request).await;
        for line in response.headers.get_all("set-cookie") {
            self.set_cookie(&host, line.to_str().expect("text"));
        }
        // After it has saved a form, the application redirects to another page.
        let is_saved = is_asked && method == Method::POST && response.status == 200;
        let location = response.header("location").or(is_saved.then_some("/"));
        let location = location.map(str::to_owned);
        let body = match response.status {
            200 if is_asked => "application".to_owned(),
            200 | 303 | 401 | 404 => response.body.clone(),
            _ => panic!("{response}\n{}", self.story()),
        };
        (location, body)
    }

    fn cookies_of(&self, host: &str) -> String {
        let sent = self.jar.iter().filter(|it| {
            let below = host.strip_suffix(&it.host);
            below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
        });
        let pairs: Vec<_> = sent.map(|it| format!("{}={}", it.name, it.value)).collect();
        pairs.join("; ")
    }

    fn set_cookie(&mut self, host: &str, line: &str) {
        let mut parts = line.split("; ");
        let pair = parts.next().and_then(|pair| pair.split_once('='));
        let (name, value) = pair.expect("a cookie");
        let domain = parts.find_map(|part| part.strip_prefix("Domain="));
        let host = domain.unwrap_or(host).to_owned();
        self.jar
            .retain(|it| it.name != name || it.host != host || is_of_another_path(it));
        if !value.is_empty() {
            let (name, value) = (name.to_owned(), value.to_owned());
            self.jar.push(Cookie { name, value, host });
        }
    }
}

/// Returns whether this is one of the walk's dead cookies. They have another path or domain, so no
/// new cookie replaces them.
fn is_of_another_path(cookie: &Cookie) -> bool {
    cookie.value.contains("_0000")
}

fn path_and_query(url: &Url) -> String {
    let query = url.query().map(|query| format!("?{query}"));
    url.path().to_owned() + &query.unwrap_or_default()
}
