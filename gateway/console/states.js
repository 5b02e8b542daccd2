// What a list shows while it waits, is empty or cannot be read.

import { button, el } from "./dom.js";
import { say } from "./texts.js";

export function loading() {
  const bones = Array.from({ length: 8 }, () => el("div", { class: "bone" }));
  return el("div", { class: "state loading", role: "status" }, el("span", { class: "unseen" }, say("states.loading")), bones);
}

export function nothing(text, ...actions) {
  return el("div", { class: "state", role: "status" }, el("p", {}, text), actions);
}

export function failure(text, again) {
  return el("div", { class: "state failure", role: "alert" }, el("p", {}, text), again && button(say("states.again"), {}, again));
}
