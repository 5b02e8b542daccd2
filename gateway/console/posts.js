// The posts, which admins write, change and delete here.

import { call, explain, query } from "./api.js";
import { button, el, fill, notify } from "./dom.js";
import { confirmed } from "./form.js";
import { paging } from "./paging.js";
import { openEditor } from "./post_editor.js";
import { failure, loading, nothing } from "./states.js";

const PAGE_SIZE = 20;
const MAX_EXCERPT = 160;

/** The address of the page of the list that was shown last. */
let listAddress = "#/posts";

export function postsView() {
  const heading = el("h1", { tabindex: "-1" }, "Posts");
  const create = button("New post", { class: "primary" }, () => openEditor(null, (post) => (location.hash = `#/posts/${post.id}`)));
  const list = el("div", { class: "list" });
  const pages = paging("/posts", loadList);
  let turn = 0;

  /** Shows what `read` returns, unless another list or post was asked for meanwhile. */
  async function show(read, again) {
    const mine = ++turn;
    list.setAttribute("aria-busy", "true");
    if (!list.childElementCount) fill(list, loading());
    let content;
    try {
      content = await read();
    } catch (error) {
      const text = explain(error);
      // A gateway without POSTS_SERVICE_URL answers this.
      const hasNone = error.message === "Not Found";
      content = hasNone ? nothing("Posts are turned off on this server.") : failure(text, again);
    }
    if (mine !== turn) return;
    fill(list, content);
    list.removeAttribute("aria-busy");
  }

  function loadList() {
    pages.element.hidden = false;
    listAddress = location.hash || "#/posts";
    return show(async () => {
      const { posts, next } = await call("GET", query("/posts", { limit: PAGE_SIZE, after: pages.after }));
      pages.show(posts.length ? `${posts.length} ${posts.length === 1 ? "post" : "posts"}` : "", next);
      if (!posts.length) return nothing(pages.after ? "There are no more posts." : "There are no posts yet.");
      return el("ul", { class: "posts" }, posts.map(excerpt));
    }, loadList);
  }

  function loadPost(id) {
    pages.element.hidden = true;
    const load = () => show(async () => article(await call("GET", `/posts/${id}`), load), load);
    return load();
  }

  const load = (id) => (id ? loadPost(id) : loadList());
  const bar = el("div", { class: "bar" }, heading, create);
  return { element: el("div", { class: "view" }, bar, list, pages.element), load };
}

function excerpt({ id, title, content, ...post }) {
  const start = content.length > MAX_EXCERPT ? `${content.slice(0, MAX_EXCERPT)}…` : content;
  return el("li", {}, el("a", { href: `#/posts/${id}` }, title), byline(post), el("p", {}, start));
}

function byline({ author, created_at: created, updated_at: updated }) {
  const time = (at) => new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  const change = updated === created ? "" : `, changed ${time(updated)}`;
  return el("p", { class: "muted" }, `${author ?? "A deleted user"}, ${time(created)}${change}`);
}

function article(post, reload) {
  const remove = confirmed("Delete", async () => {
    await call("DELETE", `/posts/${post.id}`);
    notify("Post deleted.");
    location.hash = "#/posts";
  });
  const edit = button("Edit", {}, () => openEditor(post, reload));
  return el(
    "article",
    { tabindex: "-1" },
    el("p", {}, el("a", { href: listAddress }, "‹ All posts")),
    el("h2", {}, post.title),
    byline(post),
    el("p", { class: "content" }, post.content),
    el("div", { class: "actions" }, edit, remove),
  );
}
