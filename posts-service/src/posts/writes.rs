//! Creates, updates and deletes posts on behalf of authors and admins. Each change writes a line to the audit log. The
//! line never contains a title or content.

use super::{PostError, Posts, call_context};
use crate::{
    post::{Post, PostAuthor, PostContent, PostWithAuthor},
    store::{self, PostSelector},
};
use rolegate_auth_client::{Requirement, Role, User};
use rolegate_program::{audit_line, request_context::RequestContext};
use rolegate_sql_store::{StoreError, unix_millis};
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
        let database = Arc::clone(&self.store);
        let author = PostAuthor {
            id: writer.id,
            created_at: writer.created_at,
        };
        let username = writer.username.clone();
        let change = PostChange {
            event: "post_created",
            writer,
            post_id: None,
        };
        let insert = async move { store::insert(&database, author, content, unix_millis()).await };
        let post = change.run(insert, |post| Some(PostIds::of(post))).await?;
        Ok(PostWithAuthor {
            post,
            author: Some(username),
        })
    }

    /// Replaces the title and the content of a post. The author does not change.
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
            Err(rule) => {
                let invalid = PostError::invalid(rule);
                return Err(self.denial_reason(selector, invalid).await?);
            }
        };
        let database = Arc::clone(&self.store);
        let change = PostChange {
            event: "post_updated",
            writer: writer.clone(),
            post_id: Some(id),
        };
        let update =
            async move { store::update(&database, selector, content, unix_millis()).await };
        let updated_ids = |updated: &Option<Post>| updated.as_ref().map(PostIds::of);
        match change.run(update, updated_ids).await? {
            Some(post) if post.author_id == writer.id => Ok(PostWithAuthor {
                post,
                author: Some(writer.username),
            }),
            Some(post) => self.with_author(post).await,
            None => Err(self.denial_reason(selector, PostError::NOT_FOUND).await?),
        }
    }

    /// Deletes a post. It cannot be restored.
    pub(crate) async fn delete(&self, actor: &SecretString, id: i64) -> Result<(), PostError> {
        let writer = self.require_writer(actor).await?;
        let selector = writable_by(&writer, id);
        let database = Arc::clone(&self.store);
        let change = PostChange {
            event: "post_deleted",
            writer,
            post_id: Some(id),
        };
        let delete = async move { store::delete(&database, selector).await };
        let deleted_ids = move |author_id: &Option<i64>| {
            author_id.map(|author_id| PostIds {
                post_id: id,
                author_id,
            })
        };
        match change.run(delete, deleted_ids).await? {
            Some(_author_id) => Ok(()),
            None => Err(self.denial_reason(selector, PostError::NOT_FOUND).await?),
        }
    }

    /// Returns the user of the token `actor`. Fails if auth-service does not accept the token, or if the user's stored
    /// role is neither author nor admin.
    async fn require_writer(&self, actor: &SecretString) -> Result<User, PostError> {
        let writers = Requirement::Roles(&[Role::AUTHOR, Role::ADMIN]);
        Ok(self.auth.authorize(actor, writers, call_context()).await?)
    }

    /// Returns the error for a write that was not made, because the post does not exist or the user must not change it.
    /// If neither is the case, returns `otherwise`.
    ///
    /// After a statement that matched no post, `otherwise` is [`PostError::NOT_FOUND`], because a post that the user
    /// may change now was created after the statement ran.
    async fn denial_reason(
        &self,
        selector: PostSelector,
        otherwise: PostError,
    ) -> Result<PostError, PostError> {
        Ok(match store::author_of(&self.store, selector.id).await? {
            None => PostError::NOT_FOUND,
            Some(author) if selector.author_id.is_some_and(|only| only != author) => {
                PostError::NOT_OWNER
            }
            Some(_) => otherwise,
        })
    }
}

/// A change of a post, with what the audit log says about it.
struct PostChange {
    event: &'static str,
    writer: User,
    /// The id of the post; `None` if the post has no id yet.
    post_id: Option<i64>,
}

/// The ids of a post that was changed, and of its author, for the audit log.
struct PostIds {
    post_id: i64,
    author_id: i64,
}

impl PostIds {
    fn of(post: &Post) -> Self {
        Self {
            post_id: post.id,
            author_id: post.author_id,
        }
    }
}

impl PostChange {
    /// Makes the change and logs it.
    ///
    /// The change runs to its end even if the caller disconnects, so that every committed change is in the audit log. A
    /// change whose outcome is unknown is logged as the event `outcome_unknown`. `written` returns the ids of the
    /// changed post, or `None` if the write matched no post.
    async fn run<T: Send + 'static>(
        self,
        write: impl Future<Output = Result<T, StoreError>> + Send + 'static,
        written: impl FnOnce(&T) -> Option<PostIds> + Send + 'static,
    ) -> Result<T, StoreError> {
        let work = async move {
            let event = self.event;
            let actor_id = self.writer.id;
            let actor = self.writer.username;
            let outcome = write.await;
            match &outcome {
                Ok(row) => {
                    if let Some(PostIds { post_id, author_id }) = written(row) {
                        audit_line!(event, post_id, author_id, actor_id, actor);
                    }
                }
                Err(error) if error.is_outcome_unknown() => {
                    let post_id = self.post_id;
                    audit_line!("outcome_unknown", change = event, post_id, actor_id, actor);
                }
                Err(_) => {}
            }
            outcome
        };
        RequestContext::run_to_completion(work).await
    }
}

/// Selects the post `id` if `writer` may write it: an admin may write any post, and an author only their own.
fn writable_by(writer: &User, id: i64) -> PostSelector {
    let is_admin = writer.role == Role::ADMIN;
    PostSelector {
        id,
        author_id: if is_admin { None } else { Some(writer.id) },
    }
}
