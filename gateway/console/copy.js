// Buttons that copy to the clipboard.

import { button, el, field, plainInput } from "./dom.js";
import { say } from "./texts.js";

export function copyButton(label, text) {
  const copy = button(label, { class: "quiet small" }, async () => {
    copy.textContent = (await write(text(), copy.parentElement)) ? say("copy.copied") : say("copy.by_hand");
    setTimeout(() => (copy.textContent = label), 2000);
  });
  return copy;
}

/** Returns whether it copied `text`. `place` must be in the open dialog, if any: outside, nothing can be selected. */
async function write(text, place) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS, browsers have `navigator.clipboard` at localhost only.
    const area = document.createElement("textarea");
    area.value = text;
    place.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    return isCopied;
  }
}

/** A secret that is not shown again, and a button to copy it. */
export function copyOnce(label, secret) {
  const shown = plainInput({ readonly: true, value: secret, class: "secret" });
  const note = field(label, shown, say("copy.once"));
  return el("div", { class: "once" }, note, copyButton(say("copy.copy"), () => secret));
}
