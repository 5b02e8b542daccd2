// Builds elements. Text becomes text nodes, so nothing that the API returns is ever parsed as HTML.

import { say } from "./texts.js";

export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...present(children));
  return element;
}

/** Replaces the children of `element`. */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
}

function present(children) {
  return children.flat(9).filter((child) => child !== undefined && child !== null && child !== false);
}

export function button(text, attributes, onclick) {
  return el("button", { type: "button", ...attributes, onclick }, text);
}

/** An input that browsers neither correct nor complete. */
export function plainInput(attributes) {
  return el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes });
}

let fields = 0;
/** A label with its control and an optional hint, which screen readers read after the name. */
export function field(label, control, hint) {
  const id = `hint-${(fields += 1)}`;
  if (hint) control.setAttribute("aria-describedby", id);
  return el("div", { class: "field" }, el("label", {}, label, control), hint && el("small", { id }, hint));
}

let timer;
/** Shows a notice below the view for a while. With `undo`, it has a button, and stays until it is dismissed. */
export function notify(text, undo) {
  const notice = document.getElementById("notice");
  const status = notice.querySelector("p");
  const clear = () => {
    clearTimeout(timer);
    status.textContent = "";
    notice.replaceChildren(status);
  };
  clear();
  status.textContent = text;
  if (!text) return;
  if (!undo) timer = setTimeout(clear, 6000);
  const leave = (act) => () => {
    clear();
    document.getElementById("main").focus();
    act?.();
  };
  if (undo) notice.append(button(say("notice.undo"), { class: "small" }, leave(undo)), button("×", { class: "close", "aria-label": say("notice.dismiss") }, leave()));
}
