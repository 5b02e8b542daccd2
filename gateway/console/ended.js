// A dialog that hides the page, which keeps what was typed, from the end of the session to the next sign-in.

import { explain, refresh } from "./api.js";
import { button, el } from "./dom.js";
import { outcome, run } from "./form.js";
import { session, signInAddress } from "./session.js";
import { say } from "./texts.js";

export function startEnded() {
  const link = el("a", { class: "button primary", target: "_blank", rel: "noopener" }, say("sign_in.submit"));
  const trigger = button(say("ended.go_on"), {});
  const message = outcome();
  const dialog = el(
    "dialog",
    { id: "ended", closedby: "none", "aria-labelledby": "ended-title" },
    el("h2", { id: "ended-title" }, say("ended.title")),
    el("p", {}, say("ended.hint")),
    el("p", { class: "actions" }, link, trigger),
    message.place,
  );
  document.body.append(dialog);

  const ask = () => {
    link.href = signInAddress();
    dialog.showModal();
    link.focus();
  };
  trigger.addEventListener("click", () => run(trigger, message, async () => {
    try {
      await refresh();
    } catch (error) {
      return message.error(error.status === 401 ? say("ended.not_yet") : explain(error));
    }
  }));
  const look = () => {
    if (session.isOver && !document.hidden) refresh().catch(() => {});
  };
  addEventListener("focus", look);
  document.addEventListener("visibilitychange", look);
  session.addEventListener("back", () => refresh().catch(() => {}));
  session.addEventListener("end", ({ detail: why }) => {
    ask();
    message.note(why ?? "");
  });
  session.addEventListener("start", () => {
    message.clear();
    dialog.close();
  });
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  // Some browsers close the dialog at a second Escape anyway.
  dialog.addEventListener("close", () => session.isOver && ask());
}
