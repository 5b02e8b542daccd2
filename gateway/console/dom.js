// Builds elements. Text becomes text nodes, so nothing that the API returns is ever parsed as HTML.

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

/** An input that browsers do not correct. */
export function plainInput(attributes) {
  return el("input", { autocomplete: "off", autocapitalize: "none", spellcheck: "false", ...attributes });
}

/** A label with its control and an optional hint. */
export function field(label, control, hint) {
  return el("label", {}, label, control, hint && el("small", {}, hint));
}

let timer;
/** Says at the bottom of the screen that something is done. */
export function notify(text) {
  const notice = document.getElementById("notice");
  clearTimeout(timer);
  notice.textContent = text;
  timer = setTimeout(() => (notice.textContent = ""), 6000);
}
