// Forms and buttons that change something. They are busy while they wait, and show the outcome beside them.

import { explain } from "./api.js";
import { button, el } from "./dom.js";
import { say } from "./texts.js";

/** The place that shows the outcome of an action; screen readers read it when it changes. */
export function outcome(place = el("p", { class: "message", role: "status" })) {
  const show = (text, kind) => {
    place.textContent = text;
    place.className = `message ${kind}`;
  };
  return {
    place,
    /** Shows the text, with a button beside it if `undo` is given. */
    good: (text, undo) => {
      show(text, "good");
      if (undo) place.append(" ", button(say("notice.undo"), { class: "small" }, undo));
    },
    note: (text) => show(text, "note"),
    error: (text) => show(text, "error"),
    clear: () => show("", ""),
  };
}

/** Runs `act`, unless `trigger` is busy with it already. Returns whether it succeeded. */
export async function run(trigger, message, act) {
  if (trigger.getAttribute("aria-busy") === "true") return false;
  trigger.setAttribute("aria-busy", "true");
  message.clear();
  try {
    const done = await act();
    if (typeof done === "string") message.good(done);
    return true;
  } catch (error) {
    message.error(explain(error, true), error.message);
    return false;
  } finally {
    trigger.removeAttribute("aria-busy");
  }
}

/** The field that an API error is about, by the first words of the error. */
const FIELDS = {
  Username: "username",
  "Current password": "current",
  Password: "password",
  "One-time code": "otp",
  Title: "title",
  Content: "content",
  "API key name": "name",
  "API key expiry": "days",
  "Group name": "name",
  "Group already": "name",
  "End must": "until",
  "Invalid role": "role",
  "The last admin": "role",
};

let errors = 0;
/** Shows an error at its field until the field changes. The event `refused` tells it the API's text. */
export function errorAt(control, text, detail = text) {
  const id = `error-${(errors += 1)}`;
  const error = el("p", { class: "message error", id }, text);
  const hint = control.getAttribute("aria-describedby");
  control.closest(".field").append(error);
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-describedby", hint ? `${id} ${hint}` : id);
  const clear = () => {
    error.remove();
    control.removeAttribute("aria-invalid");
    if (hint) control.setAttribute("aria-describedby", hint);
    else control.removeAttribute("aria-describedby");
    for (const event of ["input", "sent"]) control.removeEventListener(event, clear);
  };
  for (const event of ["input", "sent"]) control.addEventListener(event, clear);
  control.dispatchEvent(new CustomEvent("refused", { detail }));
  control.focus();
}

/** A form that calls `act`, and shows what it returns, or an error at its field. */
export function form({ name, fields, submit, isSecondary, isDangerous, act }) {
  const message = outcome();
  const send = el("button", { class: isDangerous ? "danger" : !isSecondary && "primary" }, submit);
  const error = (text, detail) => {
    const start = Object.keys(FIELDS).find((it) => detail.startsWith(it));
    const control = element.elements.namedItem(FIELDS[start]);
    if (control) errorAt(control, text, detail);
    else message.error(text);
  };
  const onsubmit = (event) => {
    event.preventDefault();
    for (const control of element.elements) control.dispatchEvent(new Event("sent"));
    run(send, { ...message, error }, () => act(element));
  };
  const element = el("form", { onsubmit, "aria-label": name }, fields, el("p", { class: "actions" }, send), message.place);
  return { element, message };
}

/** A small button that asks for a second click before it calls `act`. Screen readers also read `about`. */
export function confirmed(text, act, about) {
  const message = outcome();
  const ask = (isAsked) => {
    const shown = isAsked ? say("form.sure", { action: text }) : text;
    trigger.textContent = shown;
    if (about) trigger.setAttribute("aria-label", `${shown} ${about}`);
    trigger.classList.toggle("danger", isAsked);
  };
  const trigger = button(text, { class: "small", onblur: () => ask(false) }, () => {
    if (trigger.classList.contains("danger")) run(trigger, message, act);
    else ask(true);
  });
  ask(false);
  return el("div", { class: "action" }, trigger, message.place);
}

/** A button that calls `act` and shows what it returns. */
export function action({ text, explanation, act }) {
  const message = outcome();
  const trigger = button(text, {}, () => run(trigger, message, act));
  const element = el("div", { class: "action" }, el("p", {}, explanation), trigger, message.place);
  return { element, trigger, message };
}
