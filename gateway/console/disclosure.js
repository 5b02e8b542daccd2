// A button that shows and hides a part of the page.

import { button } from "./dom.js";

export function disclosure(text, part, attributes) {
  part.id = text.toLowerCase().replaceAll(" ", "-");
  part.hidden = true;
  const trigger = button(text, { class: "disclosure", "aria-controls": part.id, "aria-expanded": "false", ...attributes }, () => {
    part.hidden = !part.hidden;
    trigger.setAttribute("aria-expanded", !part.hidden);
    if (!part.hidden) part.dispatchEvent(new Event("shown"));
  });
  return trigger;
}
