// Shows how far something has come, and a button that stops it.

import { button, el } from "./dom.js";

/** Screen readers read the progress this often, in milliseconds. */
const READ_ALOUD = 5000;

/** `label` says what is under way. `max` is undefined if it is not known. */
export function progressView(label, max, stop) {
  const bar = el("progress", { max, "aria-label": label });
  const text = el("p", { class: "muted" });
  const aloud = el("p", { class: "unseen", role: "status" }, label);
  const trigger = button("Stop", {}, () => {
    text.textContent = aloud.textContent = "Stopping…";
    stop();
  });
  let read = Date.now();
  const show = (shown, isUrgent) => {
    text.textContent = shown;
    if (!isUrgent && Date.now() - read < READ_ALOUD) return;
    aloud.textContent = shown;
    read = Date.now();
  };
  let waiting = false;
  return {
    element: el("div", { class: "progress" }, el("p", {}, label), bar, text, aloud, el("p", { class: "actions" }, trigger)),
    trigger,
    show(value, shown) {
      if (max) bar.value = Math.min(value, max);
      if (!waiting) show(shown);
    },
    /** Says for how many seconds the service asks to wait; 0: it goes on. */
    waits(seconds) {
      if (seconds) show(`The service asks to wait. Going on in ${seconds} s.`, !waiting);
      waiting = seconds > 0;
    },
  };
}
