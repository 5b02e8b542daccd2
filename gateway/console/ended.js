// When the session ends, this comes over the page, which keeps what was typed, and goes when it is back.

import { explain, refresh } from "./api.js";
import { outcome, run } from "./form.js";
import { session, signInAddress } from "./session.js";

export function startEnded() {
  const dialog = document.getElementById("ended");
  const link = dialog.querySelector("a");
  const trigger = dialog.querySelector("button");
  const message = outcome(dialog.querySelector(".message"));

  const ask = () => {
    link.href = signInAddress();
    dialog.showModal();
    link.focus();
  };
  trigger.addEventListener("click", () => run(trigger, message, async () => {
    try {
      await refresh();
    } catch (error) {
      return message.error(error.status === 401 ? "You are not signed in yet." : explain(error));
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
  // Some browsers close a dialog at the second Escape all the same.
  dialog.addEventListener("close", () => session.isOver && ask());
}
