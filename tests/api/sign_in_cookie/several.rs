//! Several cookies of one name, some of which another host of the domain may have set, and forms
//! that are sent after their session has ended.

use super::{
    DOMAIN_PAGE, PAGE,
    browser::{Answer, Browser, Proxies, new_session, sign_out},
    for_domain, start,
};
use e2e::{TestSetup, for_all_deployments, for_one_deployment};

for_all_deployments!(a_dead_session_beside_a_good_one_counts_as_none);
for_one_deployment!(
    what_is_no_session_beside_a_good_one_counts_as_none,
    a_form_sent_after_its_session_leads_back_to_its_page,
    an_address_that_is_too_long_leads_to_the_root_and_says_so,
);

/// Sends the cookies in every order, in one header and in several, as a person, a script and a
/// program.
async fn ask_with(proxies: &Proxies, cookies: &[&str], expect: impl Fn(&Answer, bool)) {
    let mut turned = cookies.to_vec();
    for _ in 0..cookies.len() {
        turned.rotate_left(1);
        let many = turned.iter().fold(Browser::get(), |browser, cookie| {
            browser.with("cookie", cookie)
        });
        let one = Browser::get().with("cookie", &turned.join("; a=b; "));
        for browser in [one, many] {
            for (mode, is_person) in [
                (None, false),
                (Some("cors"), false),
                (Some("navigate"), true),
            ] {
                let browser = match mode {
                    Some(mode) => browser.clone().with("sec-fetch-mode", mode),
                    None => browser.clone(),
                };
                let answer = proxies.ask(&browser).await;
                expect(&answer, is_person);
                // The browser does not open a password dialog.
                let is_bearer = |challenge: &String| challenge.starts_with("Bearer");
                assert!(answer.challenges.iter().all(is_bearer), "{answer:?}");
            }
        }
    }
}

/// An ended session beside a valid one is ignored. After a change of `COOKIE_DOMAIN`, a host
/// receives both the old and the new cookie, and a sibling host may set one, too.
async fn a_dead_session_beside_a_good_one_counts_as_none(setup: TestSetup) {
    let app = for_domain(setup).start().await;
    let proxies = Proxies::of(&app).await;
    let ann = app.user_with_role("ann", "author").await;
    let evil = app.user("evil").await;
    let cookie = |session: &str| format!("__Secure-rolegate={session}");
    let own = new_session(&app, &ann, true).await;
    let other = new_session(&app, &evil, true).await;
    let two = format!("{DOMAIN_PAGE}&two_sessions");
    let is_refused = |answer: &Answer, is_person: bool| {
        if is_person {
            answer.expect_led(&two);
        } else {
            answer.expect_refused(401, "NOT_AUTHENTICATED");
        }
    };
    // With two valid sessions it is unclear who signed in. Neither counts, whatever the order, even
    // if both users have the role.
    let both = [cookie(&own), cookie(&other)];
    ask_with(&proxies, &[&both[0], &both[1]], is_refused).await;
    let dead = format!("rgd_{}", "A".repeat(43));
    ask_with(&proxies, &[&both[0], &cookie(&dead), &both[1]], is_refused).await;
    let mine = new_session(&app, &ann, true).await;
    ask_with(&proxies, &[&both[0], &cookie(&mine)], is_refused).await;
    for session in [&other, &mine] {
        sign_out(&app, session).await;
    }
    // Now one of the sessions has ended.
    ask_with(&proxies, &[&both[0], &both[1]], |answer, _| {
        answer.expect_passed("author");
    })
    .await;
    let dead = cookie(&dead);
    let ended = cookie(&mine);
    let cookies = [&dead, &both[0], &ended, &both[1]].map(String::as_str);
    ask_with(&proxies, &cookies, |answer, _| {
        answer.expect_passed("author");
    })
    .await;
    let by_role = Browser::navigation().with("cookie", &cookies.join("; "));
    let denied = proxies.ask_for("admin", &by_role).await;
    denied.expect_refused(403, "ROLE_INSUFFICIENT");
    let change = Browser {
        method: "POST",
        ..by_role
    };
    proxies.ask(&change).await.expect_refused(403, "CROSS_SITE");
    let change = change.with("sec-fetch-site", "same-origin");
    proxies.ask(&change).await.expect_passed("author");
    // Now all sessions have ended.
    sign_out(&app, &own).await;
    let is_ended = |answer: &Answer, is_person: bool| {
        if is_person {
            answer.expect_led(DOMAIN_PAGE);
        } else {
            answer.expect_refused(401, "TOKEN_INVALID");
        }
    };
    ask_with(&proxies, &cookies, is_ended).await;
}

async fn what_is_no_session_beside_a_good_one_counts_as_none(setup: TestSetup) {
    let (_app, proxies, _, session) = start(setup).await;
    let own = format!("__Host-rolegate={session}");
    for other in [
        &*own,
        "__Host-rolegate=",
        "__Host-rolegate",
        "__Host-rolegate=rgs_evil",
        "__Host-rolegate=rgk_evil",
        "__Host-rolegate=\"\"",
    ] {
        ask_with(&proxies, &[&own, other], |answer, _| {
            answer.expect_passed("user");
        })
        .await;
    }
    // Nine cookies are more than any browser has, so their sessions are not looked up.
    for (count, passes) in [(7, true), (8, false), (200, false)] {
        let tossed = (0..count).map(|number| format!("__Host-rolegate=rgs_{number:043}"));
        let mut cookies: Vec<_> = tossed.collect();
        cookies.insert(count / 2, own.clone());
        let browser = Browser::navigation().with("cookie", &cookies.join("; "));
        let answer = proxies.ask(&browser).await;
        if passes {
            answer.expect_passed("user");
        } else {
            answer.expect_led(&format!("{PAGE}&two_sessions"));
        }
    }
}

async fn a_form_sent_after_its_session_leads_back_to_its_page(setup: TestSetup) {
    let (app, proxies, _, session) = start(setup).await;
    let form = Browser {
        method: "POST",
        ..Browser::navigation()
    };
    let root = "/sign-in?return=%2F&unsaved";
    for (referer, page) in [
        (
            "https://app.example.org/edit?a=b",
            "/sign-in?return=%2Fedit%3Fa%3Db&unsaved",
        ),
        ("https://evil.example/edit", root),
        ("", root),
    ] {
        proxies
            .ask(&form.clone().with("referer", referer))
            .await
            .expect_led(page);
    }
    proxies.ask(&form).await.expect_led(root);
    sign_out(&app, &session).await;
    let late = form
        .cookie(&session)
        .with("sec-fetch-site", "same-origin")
        .with("referer", "https://app.example.org/edit");
    proxies
        .ask(&late)
        .await
        .expect_led("/sign-in?return=%2Fedit&unsaved");
    // A script receives the status and is not redirected.
    let script = Browser {
        headers: late
            .headers
            .iter()
            .filter(|(name, _)| *name != "sec-fetch-mode")
            .cloned()
            .collect(),
        ..late
    };
    let script = script.with("sec-fetch-mode", "cors");
    proxies
        .ask(&script)
        .await
        .expect_refused(401, "TOKEN_INVALID");
}

async fn an_address_that_is_too_long_leads_to_the_root_and_says_so(setup: TestSetup) {
    let (_app, proxies, ..) = start(setup).await;
    let long = format!("/{}", "a".repeat(2_100));
    let browser = Browser {
        path: Box::leak(long.into_boxed_str()),
        ..Browser::navigation()
    };
    proxies
        .ask(&browser)
        .await
        .expect_led("/sign-in?return=%2F&too_long");
}
