//! Serves posts, which posts-service stores. posts-service also checks who owns a post.

mod response;

use super::{Created, JsonResult, Message, convert_all, created, message};
use crate::{
    extract::{
        json_body::{JsonBody, PathIdsAndBody},
        path_ids::PathIds,
        query_params::QueryParams,
    },
    memory,
    openapi::{
        parameters::{id_parameter, limit_parameter},
        responses::{ErrorBody, error_response},
    },
};
use axum::{Extension, Json, extract::State, response::Response};
use response::PostResponse;
use rolegate_auth_client::{
    CallContext, CallError, Reason,
    axum::{ApiError, BearerToken, RequiredRoles},
};
use rolegate_http_server::memory_budget::{MemoryBudget, Reservation};
use rolegate_posts_client::PostsClient;
use rolegate_proto::{
    limits::{MAX_PAGE_CONTENT_BYTES, MAX_POST_BYTES},
    posts_v1::{CreatePostRequest, ListPostsRequest, UpdatePostRequest},
};
use serde::{Deserialize, Serialize};
use utoipa::{
    IntoParams, ToSchema,
    openapi::path::{Parameter, ParameterIn},
};

/// The maximum length of a request body, in bytes. It is enough for the longest post, however a client escapes the
/// characters.
const MAX_BODY: usize = 4 * MAX_POST_BYTES;
/// The number of bytes that are reserved before a post is read: half for its text, and half for its JSON. If escapes
/// make the JSON longer, more bytes are reserved once its length is known.
const POST_RESERVATION: usize = 2 * MAX_POST_BYTES;
/// The maximum number of bytes that are reserved before a page is read: half for its posts, and half for their JSON.
/// The posts may exceed the limit of a page, because the page ends only after the post that reaches the limit.
const MAX_PAGE_RESERVATION: usize = 2 * (MAX_PAGE_CONTENT_BYTES as usize + 2 * MAX_POST_BYTES);
/// An upper bound for the bytes in the JSON of a page apart from its posts: the names of its fields, and the value of
/// `next`.
const PAGE_NAMES: usize = 64;

/// The state of the routes of posts.
#[derive(Clone)]
pub(crate) struct PostsState {
    pub(crate) posts: PostsClient,
    /// The budget from which memory for responses with posts is reserved.
    pub(crate) memory: MemoryBudget,
}

/// The id in the path of a post.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct PostPath {
    /// The id of the post, an integer.
    #[param(example = 1)]
    id: i64,
}

error_response! {
    /// The error for a [`PostPath`] if there is no such post.
    PostNotFound = 404, "No post has this id.", ["Post not found."]
}

error_response! {
    /// The error for users who may not change the post.
    PostOwnerRequired = 403,
    "The caller's stored role is not `author` or `admin`, or the caller is an author and does \
     not own the post.",
    ["Insufficient privileges."]
}

/// The title and the content of a post. Both are stored exactly as sent.
// posts-service checks the rules of both fields.
#[derive(Deserialize, ToSchema)]
#[schema(as = PostDraft)]
pub(crate) struct PostRequest {
    /// 1 to 200 characters (Unicode scalar values), without control or invisible characters, and not only white space.
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$",
        example = "On roles"
    )]
    title: String,
    /// 1 to 50,000 characters (Unicode scalar values), without NUL.
    #[schema(
        min_length = 1,
        max_length = 50_000,
        pattern = r"^[^\u0000]*$",
        example = "A role counts from the next request."
    )]
    content: String,
}

/// A page of posts, in ascending order of their ids.
#[derive(Serialize, ToSchema)]
#[schema(as = PostPage)]
pub(crate) struct PostsResponse {
    posts: Vec<PostResponse>,
    /// The value of `after` for the next page. Null on the last page.
    #[schema(required, example = 7)]
    next: Option<i64>,
}

/// The query parameters of `GET /posts`.
struct PostFilters;

impl IntoParams for PostFilters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![
            limit_parameter(
                "The maximum number of posts on the page. A page of long posts has fewer.",
            ),
            id_parameter(
                "after",
                "Return only posts with a greater id. Pass the `next` of the previous page.",
            ),
            id_parameter("author_id", "Return only posts of this author."),
        ]
    }
}

fn query(params: &QueryParams) -> Result<ListPostsRequest, ApiError> {
    params.expect_only(&["limit", "after", "author_id"])?;
    Ok(ListPostsRequest {
        page_size: params.page_size()?,
        after: params.after()?,
        author_id: params.id("author_id")?,
    })
}

/// List posts
///
/// Returns posts in ascending order of their ids. Anyone may call this endpoint. A page of long posts has fewer than
/// `limit`, so only `next` says whether there are more.
#[utoipa::path(
    get,
    path = "/posts",
    params(PostFilters),
    responses((status = 200, body = PostsResponse))
)]
pub(crate) async fn list_posts(
    State(PostsState { posts, memory }): State<PostsState>,
    Extension(context): Extension<CallContext>,
    params: QueryParams,
) -> Result<Response, ApiError> {
    let query = query(&params)?;
    let limit = params.limit()?.map_or(usize::MAX, usize::from);
    let bytes = limit
        .saturating_mul(POST_RESERVATION)
        .min(MAX_PAGE_RESERVATION);
    let reservation = memory::reserve(&memory, bytes).await?;
    let page = posts.list(query, context).await?;
    let page = PostsResponse {
        posts: convert_all(page.posts)?,
        next: page.next_after,
    };
    respond(reservation, &page).await
}

async fn respond(reservation: Reservation, page: &PostsResponse) -> Result<Response, ApiError> {
    let text: usize = page.posts.iter().map(PostResponse::text_size).sum();
    let posts: usize = page.posts.iter().map(PostResponse::json_size).sum();
    memory::write_json(reservation, page, text, posts + PAGE_NAMES).await
}

/// Get a post
///
/// Anyone may call this endpoint.
#[utoipa::path(
    get,
    path = "/posts/{id}",
    params(PostPath),
    responses((status = 200, body = PostResponse), PostNotFound)
)]
pub(crate) async fn get_post(
    State(PostsState { posts, memory }): State<PostsState>,
    Extension(context): Extension<CallContext>,
    PathIds(PostPath { id }): PathIds<PostPath>,
) -> Result<Response, ApiError> {
    let reservation = memory::reserve(&memory, POST_RESERVATION).await?;
    let post = PostResponse::try_from(posts.get_post(id, context).await?)?;
    memory::write_json(reservation, &post, post.text_size(), post.json_size()).await
}

/// Create a post
///
/// The caller becomes the author of the post. Only authors and admins may call this endpoint.
#[utoipa::path(
    post,
    path = "/posts",
    request_body(content = PostRequest, description = "At most 1 MiB."),
    responses(
        (status = 201, description = "The new post.",
            body = PostResponse, headers(("Location" = String, description = "`/posts/{id}`"))),
        (status = 400, description = "The title or content breaks a rule, or the request body is \
                                      malformed.",
            body = ErrorBody, example = "Title must have 1 to 200 characters.")
    )
)]
pub(crate) async fn create_post(
    State(state): State<PostsState>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    JsonBody(request): JsonBody<PostRequest, MAX_BODY>,
) -> Result<Created<PostResponse>, ApiError> {
    let request = CreatePostRequest {
        title: request.title,
        content: request.content,
    };
    let post = state
        .posts
        .create(&actor, request, context)
        .await
        .map_err(name_required_roles)?;
    let path = format!("/posts/{}", post.id);
    Ok(created(path, post.try_into()?))
}

/// Update a post
///
/// Replaces the title and the content. The author stays the same. Authors may update their own posts, and admins all
/// posts.
#[utoipa::path(
    put,
    path = "/posts/{id}",
    params(PostPath),
    request_body(content = PostRequest, description = "At most 1 MiB."),
    responses(
        (status = 200, body = PostResponse),
        (status = 400, description = "The title or content breaks a rule, the id is not an \
                                      integer, or the request body is malformed.",
            body = ErrorBody, example = "Title must have 1 to 200 characters."),
        PostOwnerRequired,
        PostNotFound
    )
)]
pub(crate) async fn update_post(
    State(state): State<PostsState>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    PathIdsAndBody(PostPath { id }, request): PathIdsAndBody<PostPath, PostRequest, MAX_BODY>,
) -> JsonResult<PostResponse> {
    let request = UpdatePostRequest {
        post_id: id,
        title: request.title,
        content: request.content,
    };
    let updated = state.posts.update(&actor, request, context).await;
    let post = updated.map_err(name_required_roles)?;
    Ok(Json(post.try_into()?))
}

/// Delete a post
///
/// Authors may delete their own posts, and admins all posts.
#[utoipa::path(
    delete,
    path = "/posts/{id}",
    params(PostPath),
    responses(
        (status = 200, body = Message, example = "Post deleted successfully."),
        PostOwnerRequired,
        PostNotFound
    )
)]
pub(crate) async fn delete_post(
    State(state): State<PostsState>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    PathIds(PostPath { id }): PathIds<PostPath>,
) -> JsonResult<Message> {
    state
        .posts
        .delete(&actor, id, context)
        .await
        .map_err(name_required_roles)?;
    Ok(message("Post deleted successfully."))
}

/// Adds the roles that posts-service required to a denial, for the audit log. The guard of the route cannot add them,
/// because it let the user pass. Other errors are only converted.
fn name_required_roles(error: CallError) -> ApiError {
    let is_denial = error.reason().is_some_and(Reason::is_denial);
    let error = ApiError::from(error);
    if is_denial {
        error.requiring(RequiredRoles("owner,admin".into()))
    } else {
        error
    }
}

#[cfg(test)]
mod tests;
