// Modal dialogs. The browser keeps the focus inside, closes them by Escape, and gives the focus back.

import { button, el } from "./dom.js";

/** `onclose` runs when the dialog has closed. */
export function openDialog(title, content, { onclose, keep, isWide } = {}) {
  const close = button("×", { class: "close", "aria-label": "Close" }, () => dialog.close());
  const bar = el("div", { class: "title" }, el("h2", {}, title), close);
  const dialog = el("dialog", { class: isWide && "wide", "aria-label": title }, bar, content);
  dialog.addEventListener("close", () => {
    if (!keep) dialog.remove();
    onclose?.();
  });
  document.getElementById("app").append(dialog);
  return dialog;
}
