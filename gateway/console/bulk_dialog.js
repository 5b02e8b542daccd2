// Asks before something is done to many users, and does it.

import { explain } from "./api.js";
import { runInDialog } from "./bulk_result.js";
import { count } from "./counts.js";
import { button, el, fill } from "./dom.js";
import { form } from "./form.js";
import { guardedDialog } from "./guarded_dialog.js";
import { Stopped, patientCalls } from "./patient_calls.js";
import { progressView } from "./progress_view.js";
import { session } from "./session.js";
import { failure } from "./states.js";
import { filtersForApi } from "./user_filters.js";
import { allUsers } from "./user_pages.js";

const MAX_NAMES = 10;

/** `finished()` runs when the dialog has closed after changes. Users whose change succeeded are selected no longer. */
export async function openBulk(name, prepare, selection, finished) {
  let isOpen = true;
  let hasRun = false;
  const calls = patientCalls((seconds) => progress.waits(seconds));
  const content = el("div", { class: "bulk" });
  const guard = guardedDialog(name, content, () => {
    isOpen = false;
    calls.stop();
    if (hasRun) finished();
  });
  const progress = progressView("Reading who is selected", undefined, guard.close);

  async function begin() {
    fill(content, progress.element);
    progress.trigger.focus();
    try {
      const [users, action] = await Promise.all([people(), prepare()]);
      if (isOpen) ask(users, action);
    } catch (error) {
      if (!(error instanceof Stopped)) fill(content, failure(explain(error), begin));
    }
  }

  /** All that match are read in the order of ids, so that changes meanwhile make nobody skipped. */
  async function people() {
    if (!selection.filters) return selection.users;
    const read = (users) => progress.show(0, `${count(users.length)} so far`);
    const users = await allUsers(filtersForApi(selection.filters), calls.send, read);
    return users.filter(({ id }) => id !== session.user.id);
  }

  function ask(users, action) {
    const names = users.slice(0, MAX_NAMES).map(({ username }) => username).join(", ");
    const others = users.length - MAX_NAMES;
    const question = action.question(count(users.length));
    const label = question.replace("?", "");
    const nameOf = ({ username }) => username;
    const { element } = form({
      name,
      fields: [
        el("p", { class: "asked" }, question),
        el("p", { class: "muted" }, others > 0 ? `${names} and ${others.toLocaleString("en")} more` : names, ".", selection.filters && " Your own account is left out."),
        action.hint && el("p", {}, action.hint),
        action.fields,
      ],
      submit: label,
      isDangerous: action.isDangerous,
      act: async () => {
        const change = action.begin(users.length);
        if (!change) return;
        hasRun = true;
        await runInDialog(guard, { label, items: users, nameOf, change, finished: keepOthers });
      },
    });
    const cancel = button("Cancel", {}, guard.close);
    element.querySelector(".actions").prepend(cancel);
    fill(content, users.length ? element : failure("No users match the filters any longer."));
    (element.querySelector("select, input") ?? cancel).focus();
  }

  function keepOthers(results) {
    selection.only([...results].filter(([, { state }]) => state !== "done").map(([user]) => user));
  }

  begin();
}
