// Parts of a dialog, of which one is shown. Arrow keys go from tab to tab.

import { button, el } from "./dom.js";

/** Each part has a `title` and `content`, and maybe `load`, which runs when the part is shown for the first time. */
export function tabs(label, parts) {
  const loaded = new Set();
  const panels = parts.map(({ title, content }, number) => {
    const attributes = { class: "part", role: "tabpanel", id: `part-${number}`, "aria-labelledby": `tab-${number}` };
    return el("div", attributes, el("h3", { class: "unseen" }, title), content);
  });
  const triggers = parts.map(({ title }, number) => {
    const attributes = { role: "tab", id: `tab-${number}`, "aria-controls": `part-${number}`, autofocus: number === 0 };
    return button(title, attributes, () => select(number));
  });

  function select(chosen) {
    for (const [number, trigger] of triggers.entries()) {
      trigger.setAttribute("aria-selected", number === chosen);
      trigger.tabIndex = number === chosen ? 0 : -1;
      panels[number].hidden = number !== chosen;
    }
    if (!loaded.has(chosen)) parts[chosen].load?.();
    loaded.add(chosen);
  }

  function onkeydown(event) {
    const last = triggers.length - 1;
    const here = triggers.indexOf(document.activeElement);
    const goals = { ArrowRight: here < last ? here + 1 : 0, ArrowLeft: here > 0 ? here - 1 : last, Home: 0, End: last };
    if (here < 0 || !Object.hasOwn(goals, event.key)) return;
    event.preventDefault();
    select(goals[event.key]);
    triggers[goals[event.key]].focus();
  }

  select(0);
  return [el("div", { class: "tabs", role: "tablist", "aria-label": label, onkeydown }, triggers), panels];
}
