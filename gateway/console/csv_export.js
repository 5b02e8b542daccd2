// Reads all pages of a list, with its progress, and saves them as a CSV file.

import { explain } from "./api.js";
import { csvText, save } from "./csv.js";
import { openDialog } from "./dialog.js";
import { button, el, fill } from "./dom.js";
import { Stopped, patientCalls } from "./patient_calls.js";
import { progressView } from "./progress_view.js";
import { failure } from "./states.js";

/**
 * `read(send, progressed)` returns the `header` and the `rows` of the file, and in `cut` what to say if it lacks some.
 * `send` is that of patient calls. `counted(number)` says how many rows there are, and `total` is their number, if it is
 * known.
 */
export function openCsvExport({ label, name, total, counted, read }) {
  const content = el("div", { class: "bulk" });
  const calls = patientCalls((seconds) => progress.waits(seconds));
  const dialog = openDialog("Export CSV", content, { onclose: () => calls.stop() });
  const progress = progressView(label, total, () => dialog.close());

  async function run() {
    fill(content, progress.element);
    progress.trigger.focus();
    const progressed = (number) => progress.show(number, total ? `${number.toLocaleString("en")} of ${counted(total)}` : counted(number));
    try {
      const file = await read(calls.send, progressed);
      if (!calls.isStopped) finish(file);
    } catch (error) {
      if (!(error instanceof Stopped)) fill(content, failure(explain(error), run));
    }
  }

  function finish({ header, rows, cut }) {
    const file = `${name}-${new Date().toISOString().slice(0, 10)}.csv`;
    const isSaved = save(file, csvText(header, rows));
    const text = isSaved ? `${counted(rows.length)} ${rows.length === 1 ? "is" : "are"} in the file ${file}.` : "The file could not be saved.";
    const done = button("Done", { class: "primary", "aria-describedby": "exported" }, () => dialog.close());
    fill(content, el("p", { id: "exported" }, text, isSaved && cut && ` ${cut}`), el("p", { class: "actions" }, done));
    done.focus();
  }

  dialog.showModal();
  run();
}
