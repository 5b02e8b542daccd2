// The filters of the record. The address keeps them.

import { parameters } from "./address.js";
import { EVENTS } from "./audit_texts.js";
import { DATE, midnight } from "./date_filter.js";
import { disclosure } from "./disclosure.js";
import { button, el, field, fill, plainInput } from "./dom.js";
import { typing } from "./typing.js";

const TYPING_PAUSE = 600;
const GROUPS = { "sign-ins": "All sign-ins", changes: "All changes", refusals: "All refusals" };
/** Filters that only links set. */
const IDS = { user_id: ["User", "username"], actor_id: ["By", "actor"] };
/** Where the window is narrower, the rows come first. */
const WIDE = "(min-width: 32.01rem)";

/** `changed(values, isTyping)` runs after a change. `isTyping`: it continues the previous one. */
export function auditFilters(changed) {
  const name = (attribute) => plainInput({ type: "search", name: attribute, maxlength: 255 });
  const date = (attribute) => el("input", { type: "date", name: attribute, max: "9999-12-31" });
  const controls = { username: name("username"), actor: name("actor"), event: eventSelect(), since: date("since"), until: date("until") };
  const { username, actor, event, since, until } = controls;
  const ids = {};
  const labels = [field("User name", username), field("By (user name)", actor), field("Event", event), field("From", since), field("Until", until)];
  const element = el("div", { class: "more", role: "search", "aria-label": "Filters" }, labels);
  const trigger = disclosure("Filters", element);
  if (matchMedia(WIDE).matches) trigger.click();
  const chips = el("div", { class: "chips" });

  const values = () => {
    const isGroup = Object.hasOwn(GROUPS, event.value);
    const { value } = event;
    const events = isGroup ? { events: value } : { event: value };
    return { username: username.value, actor: actor.value, ...ids, ...events, since: dateOf(since.value), until: dateOf(until.value) };
  };
  const typed = typing([username, actor], TYPING_PAUSE, (isTyping) => changed(values(), isTyping));
  for (const control of [event, since, until]) control.addEventListener("change", typed.send);

  function chip(filter) {
    const [label] = IDS[filter];
    const text = el("span", {}, `${label}: id ${ids[filter]}`);
    const remove = () => {
      ids[filter] = "";
      typed.send();
      trigger.focus();
    };
    return el("span", { class: "chip" }, text, button("×", { class: "close", "aria-label": `Remove the filter ${label}` }, remove));
  }

  return {
    trigger,
    element,
    chips,
    /** Takes the values from the address, except a name that is being typed. What is no value of a filter is left out. */
    read() {
      const given = parameters();
      for (const [filter, control] of Object.entries(controls)) {
        const text = (filter === "event" && given.events) || (given[filter] ?? "");
        const wanted = control.type === "date" ? dateOf(text) : text;
        if (control.value === wanted || (typed.isPending && control.type === "search")) continue;
        control.value = wanted;
        if (control.selectedIndex < 0) control.value = "";
      }
      for (const filter of Object.keys(IDS)) ids[filter] = given[filter] ?? "";
      fill(chips, Object.keys(IDS).filter((filter) => ids[filter]).map(chip));
      const active = Object.values(controls).filter(({ value }) => value).length;
      trigger.textContent = active ? `Filters (${active})` : "Filters";
      return values();
    },
    /** Shows the name of the user whose id is a filter. */
    name(entries) {
      for (const [number, filter] of Object.keys(IDS).filter((it) => ids[it]).entries()) {
        const [label, nameOf] = IDS[filter];
        const known = entries.find((entry) => entry[filter] === Number(ids[filter]))?.[nameOf];
        if (known) chips.children[number].firstChild.textContent = `${label}: ${known}, id ${ids[filter]}`;
      }
    },
    clear() {
      for (const control of Object.values(controls)) control.value = "";
      for (const filter of Object.keys(IDS)) ids[filter] = "";
      typed.send();
      trigger.focus();
    },
  };
}

function eventSelect() {
  const options = (texts) => Object.entries(texts).map(([value, text]) => el("option", { value }, text));
  const group = (label, texts) => el("optgroup", { label }, options(texts));
  return el("select", { name: "event" }, options({ "": "All events" }), group("Groups of events", GROUPS), group("Single events", EVENTS));
}

/** Returns the date, or nothing if the text is none. */
function dateOf(text) {
  return DATE.test(text) && new Date(text).toJSON()?.startsWith(text) ? text : "";
}

/** Returns the filters as the API takes them. Days begin and end at midnight of this browser. */
export function filtersForApi({ since, until, ...others }) {
  return { ...others, since: since && midnight(since), before: until && midnight(until, 1) };
}
