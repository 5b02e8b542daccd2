//! Creates, updates and deletes posts, for authors and admins. The audit log never contains a title or
//! content.

use super::{PostError, Posts, call_context};
use crate::{
    post::{Post, PostContent, PostWithAuthor},
    store::{self, PostSelector, deleted_authors::PostAuthor},
};
use rolegate_auth_client::{Requirement, Role, User};
use rolegate_sql_store::{StoreError, unix_millis};
use rolegate_telemetry::{audit_line, request_context::RequestContext};
use secrecy::SecretString;
use std::sync::Arc;

impl Posts {
    pub(crate) async fn create(
        &self,
        actor: &SecretString,
        title: String,
        content: String,
    ) -> Result<PostWithAuthor, PostError> {
        let writer = self.require_writer(actor).await?;
        let content = PostContent::new(title, content).map_err(PostError::invalid)?;
        let (database, author) = (Arc::clone(&self.store), Some(writer.username.clone()));
        let post_author = PostAuthor {
            id: writer.id,
            created_at: writer.created_at,
        };
        let insert =
            async move { store::insert(&database, post_author, content, unix_millis()).await };
        let post = write("post_created", writer, None, insert, |post| Some(ids(post))).await?;
        Ok(PostWithAuthor { post, author })
    }

    /// Replaces title and content; the author does not change.
    pub(crate) async fn update(
        &self,
        actor: &SecretString,
        id: i64,
        title: String,
        content: String,
    ) -> Result<PostWithAuthor, PostError> {
        let writer = self.require_writer(actor).await?;
        let selector = writable_by(&writer, id);
        let content = match PostContent::new(title, content) {
            Ok(content) => content,
            // A missing post and one of another author are reported before invalid content.
            Err(invalid) => {
                let author = store::author_of(&self.store, id)
                    .await?
                    .ok_or(PostError::NOT_FOUND)?;
                let is_writable = selector.author_id.is_none_or(|only| only == author);
                return Err(if is_writable {
                    PostError::invalid(invalid)
                } else {
                    PostError::NOT_OWNER
                });
            }
        };
        let (database, actor) = (Arc::clone(&self.store), writer.clone());
        let update =
            async move { store::update(&database, selector, content, unix_millis()).await };
        let record = |updated: &Option<Post>| updated.as_ref().map(ids);
        match write("post_updated", actor, Some(id), update, record).await? {
            Some(post) if post.author_id == writer.id => Ok(PostWithAuthor {
                post,
                author: Some(writer.username),
            }),
            Some(post) => self.with_author(post).await,
            None => Err(self.denial_reason(selector).await?),
        }
    }

    /// Deletes a post permanently.
    pub(crate) async fn delete(&self, actor: &SecretString, id: i64) -> Result<(), PostError> {
        let writer = self.require_writer(actor).await?;
        let selector = writable_by(&writer, id);
        let database = Arc::clone(&self.store);
        let delete = async move { store::delete(&database, selector).await };
        let record = move |author_id: &Option<i64>| author_id.map(|author_id| (id, author_id));
        match write("post_deleted", writer, Some(id), delete, record).await? {
            Some(_author_id) => Ok(()),
            None => Err(self.denial_reason(selector).await?),
        }
    }

    /// The user of the token, whose stored role must be author or admin.
    async fn require_writer(&self, actor: &SecretString) -> Result<User, PostError> {
        let writers = Requirement::Roles(&[Role::AUTHOR, Role::ADMIN]);
        Ok(self.auth.authorize(actor, writers, call_context()).await?)
    }

    /// Why a write matched no post. The statement selects by id and author at once; this only tells
    /// the two reasons apart afterwards.
    async fn denial_reason(&self, selector: PostSelector) -> Result<PostError, PostError> {
        let author = store::author_of(&self.store, selector.id).await?;
        // A post of the writer itself was created after the statement ran.
        let is_other_author = author.is_some_and(|author| selector.author_id != Some(author));
        Ok(if is_other_author {
            PostError::NOT_OWNER
        } else {
            PostError::NOT_FOUND
        })
    }
}

/// Makes a change: to completion even if the caller leaves, so that a committed one is also recorded, as
/// is one whose outcome is unknown. `written` has the ids of the post and its author, if there is one.
async fn write<T: Send + 'static>(
    event: &'static str,
    writer: User,
    post_id: Option<i64>,
    write: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    written: impl FnOnce(&T) -> Option<(i64, i64)> + Send + 'static,
) -> Result<T, StoreError> {
    let work = async move {
        let (actor_id, actor) = (writer.id, writer.username);
        let outcome = write.await;
        match &outcome {
            Ok(outcome) => {
                if let Some((post_id, author_id)) = written(outcome) {
                    audit_line!(event, post_id, author_id, actor_id, actor);
                }
            }
            Err(error) if error.is_outcome_unknown() => {
                audit_line!("outcome_unknown", change = event, post_id, actor_id, actor);
            }
            Err(_) => {}
        }
        outcome
    };
    RequestContext::run_to_completion(work).await
}

fn ids(post: &Post) -> (i64, i64) {
    (post.id, post.author_id)
}

/// The post `id`, if `writer` may write it: an admin any post, an author their own.
fn writable_by(writer: &User, id: i64) -> PostSelector {
    PostSelector {
        id,
        author_id: (writer.role != Role::ADMIN).then_some(writer.id),
    }
}
