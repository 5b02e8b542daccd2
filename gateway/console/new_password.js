// A field for a new password, with a button that generates one.

import { call } from "./api.js";
import { copyButton } from "./copy.js";
import { button, el, field, plainInput } from "./dom.js";
import { say } from "./texts.js";

/** The shortest password that the service accepts, in bytes; `undefined` until it is known. */
let least;
let policy;
/** Asks for it once. After a failure, it becomes known when the API refuses a shorter password. */
function readPolicy() {
  policy ??= call("GET", "/password-policy").then(
    ({ min_length: length }) => (least = length),
    () => (policy = undefined),
  );
  return policy;
}
const hint = () => (least ? say("password.lengths", { least }) : say("password.length"));

/** Returns at least 20 characters of base64url. */
function generate() {
  const bytes = crypto.getRandomValues(new Uint8Array(Math.max(15, Math.ceil((least ?? 0) * 0.75))));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function newPassword(label) {
  const input = plainInput({ name: "password", type: "password", autocomplete: "new-password", required: true });
  const labelled = field(label, input, hint());
  input.addEventListener("refused", ({ detail }) => {
    least = /at least (\d+) byte/.exec(detail)?.[1] ?? least;
    showHint();
  });
  const showHint = () => (labelled.querySelector("small").textContent = hint());
  readPolicy().then(showHint);
  const show = (isShown) => {
    input.type = isShown ? "text" : "password";
    reveal.textContent = say(isShown ? "password.hide" : "password.show");
  };
  const reveal = button(say("password.show"), { class: "quiet small" }, () => show(input.type === "password"));
  const copy = copyButton(say("copy.copy"), () => input.value);
  const make = button(say("password.generate"), { class: "quiet small" }, () => {
    input.value = generate();
    show(true);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    copy.hidden = false;
  });
  copy.hidden = true;
  return el("div", { class: "new-password" }, labelled, el("p", { class: "actions" }, make, reveal, copy));
}
