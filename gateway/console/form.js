// Forms and buttons that change something: busy while they wait, and with the API's answer beside them.

import { explain } from "./api.js";
import { button, el } from "./dom.js";

/** A place for the outcome of an action; screen readers read it when it changes. */
export function outcome(place = el("p", { class: "message", role: "status" })) {
  const show = (text, kind) => {
    place.textContent = text;
    place.className = `message ${kind}`;
  };
  return {
    place,
    good: (text) => show(text, "good"),
    note: (text) => show(text, "note"),
    error: (text) => show(text, "error"),
    clear: () => show("", ""),
  };
}

/** Runs `act` once at a time; `trigger` is busy meanwhile. Returns whether it succeeded. */
export async function run(trigger, message, act) {
  if (trigger.getAttribute("aria-busy") === "true") return false;
  trigger.setAttribute("aria-busy", "true");
  message.clear();
  try {
    const done = await act();
    if (typeof done === "string") message.good(done);
    return true;
  } catch (error) {
    message.error(explain(error, true));
    return false;
  } finally {
    trigger.removeAttribute("aria-busy");
  }
}

/** A form that calls `act` and shows what it returns. */
export function form({ name, fields, submit, isDangerous, act }) {
  const message = outcome();
  const send = el("button", { class: isDangerous ? "danger" : "primary" }, submit);
  const onsubmit = (event) => {
    event.preventDefault();
    run(send, message, () => act(event.target));
  };
  const element = el("form", { onsubmit, "aria-label": name }, fields, el("p", { class: "actions" }, send), message.place);
  return { element, message };
}

/** A small button that asks for a second click before it calls `act`. */
export function confirmed(text, act) {
  const message = outcome();
  const ask = (isAsked) => {
    trigger.textContent = isAsked ? `${text}: sure?` : text;
    trigger.classList.toggle("danger", isAsked);
  };
  const trigger = button(text, { class: "small", onblur: () => ask(false) }, () => {
    if (trigger.classList.contains("danger")) run(trigger, message, act);
    else ask(true);
  });
  return el("div", { class: "action" }, trigger, message.place);
}

/** A button that calls `act` and shows what it returns. */
export function action({ text, explanation, act }) {
  const message = outcome();
  const trigger = button(text, {}, () => run(trigger, message, act));
  const element = el("div", { class: "action" }, el("p", {}, explanation), trigger, message.place);
  return { element, trigger, message };
}
