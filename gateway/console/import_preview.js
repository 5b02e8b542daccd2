// Shows what an import would do, or what is wrong with the file.

import { count } from "./counts.js";
import { button, el, fill } from "./dom.js";
import { endText } from "./end_field.js";

const COLUMNS = { Line: "line", Username: "name", Role: "role", Groups: "groups", End: "ends", Result: "result" };

/** Fills `content`. `create(people)` creates those who do not exist, and `choose()` chooses another file. */
export function preview(content, { people, errors, leftOut }, { create, choose }) {
  const fresh = people.filter(({ exists }) => !exists);
  const isReady = !errors.length && fresh.length > 0;
  const another = button("Choose another file", {}, choose);
  const trigger = isReady && button(`Create ${count(fresh.length)}`, { class: "primary" }, () => create(fresh));
  const summary = el("p", { role: "status", tabindex: "-1" }, facts(people, fresh, errors, leftOut).join(" "));
  const list = errors.length > 0 && el("ul", {}, errors.map(({ line, text }) => el("li", { class: "message error" }, `Line ${line}: ${text}`)));
  fill(content, summary, list, people.length > 0 && table(people, errors), el("p", { class: "actions" }, trigger, another));
  summary.focus();
}

function facts(people, fresh, errors, leftOut) {
  const existing = people.length - fresh.length;
  const admins = fresh.filter(({ role }) => role === "admin").length;
  const left = leftOut.length > 0 && `Columns that are left out: ${leftOut.join(", ")}.`;
  if (errors.length) return [`The file has ${count(errors.length, "error")}, so nothing can be created.`];
  return [
    `${count(fresh.length)} can be created.`,
    existing > 0 && `${count(existing)} ${existing === 1 ? "exists" : "exist"} already and will be left alone.`,
    admins > 0 && `${count(admins, "new admin")} can do everything here.`,
    left,
  ].filter(Boolean);
}

function table(people, errors) {
  const problems = new Map();
  for (const { line, text } of errors) problems.set(line, [...(problems.get(line) ?? []), text]);
  const heads = Object.entries(COLUMNS).map(([text, kind]) => el("th", { scope: "col", class: kind }, text));
  const body = el("tbody", {}, people.map((person) => row(person, problems.get(person.line), errors.length > 0)));
  const whole = el("table", {}, el("caption", { class: "unseen" }, "The lines of the file"), el("thead", {}, el("tr", {}, heads)), body);
  return el("div", { class: "list", tabindex: "0", role: "group", "aria-label": "Preview" }, whole);
}

function row({ line, username, role, groups, until, exists }, problems, isRefused) {
  const result = problems?.join(" ") ?? (isRefused ? "" : exists ? "Exists already" : "Will be created");
  const cells = { line, name: username, role, groups: groups.map(({ name }) => name).join(", "), ends: endText(until), result };
  return el("tr", {}, Object.entries(cells).map(([kind, text]) => el("td", { class: kind }, text)));
}
