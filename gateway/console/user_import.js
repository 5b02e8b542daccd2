// Creates users from a CSV file, after a preview.

import { call, explain } from "./api.js";
import { runInDialog } from "./bulk_result.js";
import { count } from "./counts.js";
import { button, el, field, fill } from "./dom.js";
import { readGroups } from "./group_options.js";
import { guardedDialog } from "./guarded_dialog.js";
import { MAX_LINES, checkFile, readText } from "./import_file.js";
import { createPerson, findExisting } from "./import_people.js";
import { preview } from "./import_preview.js";
import { progressView } from "./progress_view.js";
import { failure } from "./states.js";

const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();

/** `finished()` runs when the dialog has closed after users were created. */
export function openImport(finished) {
  const content = el("div", { class: "bulk" });
  let hasRun = false;
  let search;
  const guard = guardedDialog("Import users", content, () => {
    search?.stop();
    if (hasRun) finished();
  });

  function choose() {
    const input = el("input", { type: "file", name: "file", accept: ".csv,text/csv", onchange: () => check(input.files[0]) });
    const explanation = [
      "A CSV file in UTF-8 with the column username, and if you like role, groups and until.",
      "Groups are separated by spaces, semicolons or |.",
      `The column until is the end of the account. A date, such as 2026-12-31, means the end of that day in your time zone, ${timeZone}; a time is in RFC 3339.`,
      `The file can have ${count(MAX_LINES)} and 1 MB. A preview comes first.`,
      "Each new user then gets a link to choose a password, which works for 24 hours.",
    ];
    fill(content, explanation.map((text) => el("p", {}, text)), field("CSV file", input));
    input.focus();
  }

  async function check(file) {
    try {
      const text = await readText(file);
      const [{ roles }, groups] = await Promise.all([call("GET", "/roles"), readGroups()]);
      const checked = checkFile(text, { roles, groups });
      if (!checked.errors.length && !(await markExisting(checked.people))) return;
      const create = (people) => {
        hasRun = true;
        const nameOf = ({ username }) => username;
        return runInDialog(guard, { label: `Creating ${count(people.length)}`, items: people, nameOf, change: createPerson });
      };
      preview(content, checked, { create, choose });
    } catch (error) {
      // An error without a status is about the file.
      const isOfFile = error.status === undefined;
      const another = button("Choose another file", {}, choose);
      fill(content, failure(isOfFile ? error.message : explain(error), isOfFile ? undefined : () => check(file)), another);
      another.focus();
    }
  }

  /** Returns whether it is known who exists. */
  async function markExisting(people) {
    const progress = progressView("Looking for users who exist already", people.length, () => search.stop());
    fill(content, progress.element);
    progress.trigger.focus();
    search = findExisting(people, progress);
    const isKnown = await search.finished;
    if (!isKnown) choose();
    return isKnown;
  }

  choose();
}
