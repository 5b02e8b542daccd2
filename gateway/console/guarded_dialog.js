// A dialog that stays while changes are made, and that asks before links are lost which were not saved.

import { openDialog } from "./dialog.js";
import { button, el } from "./dom.js";

/**
 * While `isBusy` of the result is true, the dialog cannot be closed. While `unsaved` is above 0, which is a number of
 * links, `save` is offered before. `closed()` runs when the dialog has closed.
 */
export function guardedDialog(title, content, closed) {
  const close = () => dialog.querySelector(".close");
  const guard = {
    content,
    unsaved: 0,
    save: undefined,
    close: () => dialog.close(),
    set isBusy(isBusy) {
      close().hidden = isBusy;
    },
    get isBusy() {
      return close().hidden;
    },
  };
  // A page that has already removed what it showed asks nothing.
  const warn = (event) => dialog.isConnected && (guard.isBusy || guard.unsaved) && event.preventDefault();
  const onclose = async () => {
    if (guard.isBusy || (guard.unsaved && !(await mayLose(guard)))) return dialog.showModal();
    removeEventListener("beforeunload", warn);
    dialog.remove();
    closed();
  };
  const dialog = openDialog(title, content, { keep: true, isWide: true, onclose });
  dialog.addEventListener("cancel", (event) => guard.isBusy && event.preventDefault());
  addEventListener("beforeunload", warn);
  dialog.showModal();
  return guard;
}

/** Offers to save the links. Returns whether the dialog may close. */
function mayLose(guard) {
  return new Promise((resolve) => {
    let may = false;
    const answer = (isAllowed) => {
      may = isAllowed;
      question.close();
    };
    const save = button("Save the links", { class: "primary", autofocus: true }, () => answer(guard.save()));
    const lose = button("Close without saving", { class: "danger" }, () => answer(true));
    const text = "The links were not saved, and are not shown again. In place of a link that is lost, you can make a new one.";
    const content = [el("p", {}, text), el("p", { class: "actions" }, save, lose)];
    const question = openDialog("Links are not saved", content, { onclose: () => resolve(may) });
    question.showModal();
  });
}
