// A field for a new password, which can be generated.

import { copyButton } from "./copy.js";
import { button, el, field, plainInput } from "./dom.js";

/** 15 random bytes in base64url: 20 characters. */
function generate() {
  const bytes = crypto.getRandomValues(new Uint8Array(15));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

/** Which minimum a service asks for is its setting; the API names it where a password is shorter. */
const HINT = "At most 72 bytes.";

export function newPassword(label) {
  const input = plainInput({ name: "password", type: "password", autocomplete: "new-password", required: true });
  const show = (isShown) => {
    input.type = isShown ? "text" : "password";
    reveal.textContent = isShown ? "Hide" : "Show";
  };
  const reveal = button("Show", { class: "quiet small" }, () => show(input.type === "password"));
  const copy = copyButton("Copy", () => input.value);
  const make = button("Generate", { class: "quiet small" }, () => {
    input.value = generate();
    show(true);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    copy.hidden = false;
  });
  copy.hidden = true;
  return el("div", { class: "new-password" }, field(label, input, HINT), el("p", { class: "actions" }, make, reveal, copy));
}
