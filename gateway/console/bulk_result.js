// Makes many changes in a dialog: shows the progress, and then the result of each.

import { bulkChange } from "./bulk_change.js";
import { count } from "./counts.js";
import { csvText, save } from "./csv.js";
import { button, el, fill } from "./dom.js";
import { outcome } from "./form.js";
import { progressView } from "./progress_view.js";
import { moment } from "./times.js";

/** The states of results, those first that need attention, with their names. */
const STATES = { failed: "failed", unknown: "unknown", left: "not begun", done: "done" };
const TEXTS = { unknown: "Repeating it harms nothing.", left: "Not begun, because the run was stopped." };
/** More lines would make the page slow. */
const MAX_LINES = 1000;

/**
 * Makes `change(item, send)` for each item in a guarded dialog. `label` says what is done, and `nameOf(item)` to whom.
 * `finished(results)`, if given, runs when the results are known.
 */
export async function runInDialog(guard, { label, items, nameOf, change, finished }) {
  const progress = progressView(label, items.length, () => run.stop());
  const numbers = {};
  let made = 0;
  const progressed = ({ state }) => {
    numbers[state] = (numbers[state] ?? 0) + 1;
    made += 1;
    progress.show(made, `${made.toLocaleString("en")} of ${items.length.toLocaleString("en")}: ${tally(numbers)}`);
  };
  guard.isBusy = true;
  fill(guard.content, progress.element);
  progress.trigger.focus();
  const run = bulkChange(items, change, { progressed, waits: progress.waits });
  try {
    const results = await run.finished;
    finished?.(results);
    showResults(guard, results, nameOf, run.why);
  } finally {
    guard.isBusy = false;
  }
}

/** Returns such as "28 done, 2 failed". `numbers` are by state. */
function tally(numbers) {
  const states = Object.keys(STATES).reverse().filter((state) => numbers[state]);
  return states.map((state) => `${numbers[state].toLocaleString("en")} ${STATES[state]}`).join(", ");
}

function showResults(guard, results, nameOf, why) {
  const lines = [...results].map(([item, result]) => ({ name: nameOf(item), ...result }));
  const order = Object.keys(STATES);
  lines.sort((one, other) => order.indexOf(one.state) - order.indexOf(other.state));
  const links = lines.filter(({ link }) => link).map(({ name, link }) => [name, addressOf(link), link.expires_at]);
  const more = lines.length - MAX_LINES;
  const numbers = Object.fromEntries(order.map((state) => [state, lines.filter((it) => it.state === state).length]));
  const done = button("Done", { class: links.length ? "" : "primary" }, guard.close);
  const saving = links.length > 0 && saveLinks(guard, links);
  const body = el("tbody", {}, lines.slice(0, MAX_LINES).map(line));
  const heads = ["Name", "Result"].map((text) => el("th", { scope: "col" }, text));
  fill(
    guard.content,
    el("p", { id: "results" }, `${tally(numbers)}.`, why && ` Stopped: ${why}`),
    saving,
    el("div", { class: "list", tabindex: "0", role: "group", "aria-label": "Results" }, el("table", {}, el("thead", {}, el("tr", {}, heads)), body)),
    more > 0 && el("p", { class: "muted" }, `${count(more, "more line")} ${more === 1 ? "is" : "are"} not shown.`),
    el("p", { class: "actions" }, done),
  );
  const first = guard.content.querySelector(".primary");
  first.setAttribute("aria-describedby", "results");
  first.focus();
}

function line({ name, state, text, link }) {
  const kind = state === "done" ? "good" : state === "left" ? "note" : "error";
  const shown = [text, TEXTS[state]].filter(Boolean).join(" ");
  const secret = link && el("code", { class: "once" }, addressOf(link));
  return el("tr", {}, el("td", { class: "name" }, name), el("td", { class: "result" }, el("p", { class: `message ${kind}` }, shown), secret));
}

/** The `url` may be a path of this service. */
function addressOf({ url }) {
  return new URL(url, location.origin).href;
}

function saveLinks(guard, links) {
  const message = outcome();
  const name = `password-links-${new Date().toISOString().slice(0, 16).replace(":", "")}.csv`;
  guard.unsaved = links.length;
  guard.save = () => {
    const isSaved = save(name, csvText(["username", "link", "expires"], links));
    if (isSaved) guard.unsaved = 0;
    if (isSaved) message.good(`The links are in the file ${name}, if your browser has kept it. Delete it when they are sent.`);
    else message.error("The file could not be saved. Copy the links from the list, or make new ones later.");
    return isSaved;
  };
  const first = links.map(([, , expires]) => expires).sort()[0];
  const note = `Each link works once, until ${moment(first)}. The links are not shown again. If one is lost, make a new one.`;
  const trigger = button("Save the links as CSV", { class: "primary" }, guard.save);
  return el("div", { class: "action" }, el("p", {}, note), trigger, message.place);
}
