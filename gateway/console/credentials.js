// Lists the API keys or sessions of a user, each with a button that ends it.

import { call, explain } from "./api.js";
import { el, fill } from "./dom.js";
import { confirmed, outcome } from "./form.js";
import { failure } from "./states.js";

/**
 * `path` lists and ends the credentials, and its response has them in `field`. `describe(item)` returns `name`, a text,
 * and `content`, elements. `texts` has `label`, `none`, `end`, `all` and `ended(name)`, `allEnded`.
 */
export function credentialList({ path, field, describe, texts }) {
  const element = el("div", { class: "credentials", tabindex: "-1", role: "group", "aria-label": texts.label });
  const message = outcome();
  async function load() {
    try {
      const items = (await call("GET", path))[field];
      const none = !items.length && el("small", {}, texts.none);
      const all = items.length > 1 && confirmed(texts.all, () => end(texts.allEnded));
      fill(element, none || el("ul", {}, items.map(row)), all, message.place);
    } catch (error) {
      fill(element, failure(explain(error), load));
    }
  }
  function row(item) {
    const { name, content } = describe(item);
    const { id, current } = item;
    return el("li", {}, content, !current && confirmed(texts.end, () => end(texts.ended(name), id), name));
  }
  async function end(text, id) {
    await call("DELETE", id ? `${path}/${id}` : path);
    message.clear();
    await load();
    element.focus();
    message.good(text);
  }
  return { element, load };
}
