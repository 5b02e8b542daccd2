// Modal dialogs. The browser keeps the focus inside, closes them by Escape, and gives the focus back.

import { button, el } from "./dom.js";

/** `onclose` runs when the dialog has closed. With `keep`, it can be shown again. */
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

/** Asks for a confirmation. Returns whether the button `yes` was clicked. */
export function ask(question, yes) {
  return new Promise((resolve) => {
    let isYes = false;
    const agree = () => {
      isYes = true;
      dialog.close();
    };
    const no = button("Cancel", { autofocus: true }, () => dialog.close());
    const actions = el("p", { class: "actions" }, no, button(yes, { class: "danger" }, agree));
    const content = [el("p", { id: "question" }, question), actions];
    const dialog = openDialog("Are you sure?", content, { onclose: () => resolve(isYes) });
    for (const [name, value] of Object.entries({ class: "question", role: "alertdialog", "aria-describedby": "question" })) {
      dialog.setAttribute(name, value);
    }
    dialog.showModal();
  });
}
