// The dialog that writes a post. It keeps unsaved text when it is closed.

import { call } from "./api.js";
import { openDialog } from "./dialog.js";
import { el, field, notify } from "./dom.js";
import { form } from "./form.js";

/** The dialogs with unsaved text, by the id of the post, which is undefined for a new one. */
const drafts = new Map();

/** `post` is null for a new one. `saved(post)` runs when it is stored. */
export function openEditor(post, saved) {
  const key = post?.id;
  let draft = drafts.get(key);
  if (!draft?.dialog.isConnected) {
    draft = { dialog: editor(post, (stored) => draft.saved(stored)) };
    drafts.set(key, draft);
  }
  draft.saved = saved;
  draft.dialog.showModal();
  draft.dialog.querySelector("input").focus();
}

function editor(post, saved) {
  const title = el("input", { name: "title", required: true, maxlength: 400, value: post?.title });
  const content = el("textarea", { name: "content", rows: 12, required: true }, post?.content);
  let isSaved = false;
  const { element } = form({
    name: post ? "Edit post" : "New post",
    fields: [field("Title", title, "At most 200 characters."), field("Content", content, "At most 50,000 characters.")],
    submit: post ? "Save" : "Publish",
    act: async () => {
      const body = { title: title.value, content: content.value };
      const stored = await (post ? call("PUT", `/posts/${post.id}`, { body }) : call("POST", "/posts", { body }));
      isSaved = true;
      dialog.close();
      notify(post ? "Post saved." : "Post published.");
      saved(stored);
    },
  });
  const onclose = () => {
    const isChanged = title.value !== (post?.title ?? "") || content.value !== (post?.content ?? "");
    if (isSaved || !isChanged) dialog.remove();
    else notify("Not saved. Your text is kept while this page is open.");
  };
  const dialog = openDialog(post ? "Edit post" : "New post", element, { keep: true, isWide: true, onclose });
  return dialog;
}
