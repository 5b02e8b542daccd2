//! The lookup of usernames with Rolegate's own client, which splits it into batches.

use e2e::{TestApp, TestSetup, for_two_deployments};
use rolegate_auth_client::{AuthClient, CallContext};
use std::collections::HashMap;

for_two_deployments!(
    any_number_of_ids_can_be_looked_up_and_unknown_ids_are_left_out,
    name_of_a_deleted_user_is_not_returned,
);

fn client(app: &TestApp) -> AuthClient {
    AuthClient::connect_lazy(&app.auth().address("grpc")).expect("an address")
}

async fn names(client: &AuthClient, ids: &[i64]) -> HashMap<i64, String> {
    client
        .get_usernames(ids, CallContext::default())
        .await
        .expect("names")
}

async fn any_number_of_ids_can_be_looked_up_and_unknown_ids_are_left_out(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let client = client(&app);
    let (of_admin, of_ann) = ((admin.id, "admin".to_owned()), (ann.id, "ann".to_owned()));
    let both = HashMap::from([of_admin, of_ann.clone()]);
    // These ids need more than one batch, with users in the first and in the last.
    let many: Vec<i64> = [ann.id]
        .into_iter()
        .chain(1_000..2_000)
        .chain([admin.id])
        .collect();
    for (asked, named) in [
        (&[][..], HashMap::new()),
        (&[ann.id], HashMap::from([of_ann])),
        (&[-1], HashMap::new()),
        (
            &[ann.id, i64::MAX, ann.id, admin.id, i64::MIN],
            both.clone(),
        ),
        (&many, both),
    ] {
        assert_eq!(names(&client, asked).await, named, "{} ids", asked.len());
    }
}

async fn name_of_a_deleted_user_is_not_returned(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let client = client(&app);
    assert_eq!(names(&client, &[admin.id, ann.id]).await.len(), 2);
    app.database.delete("ann").await;
    assert_eq!(names(&client, &[ann.id]).await, HashMap::new());
    assert_eq!(names(&client, &[admin.id, ann.id]).await.len(), 1);
}
