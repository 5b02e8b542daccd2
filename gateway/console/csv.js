// Writes, reads and downloads CSV files (RFC 4180).

/** Makes spreadsheets open the file as UTF-8. */
const BYTE_ORDER_MARK = "\uFEFF";
/** Spreadsheets expect semicolons where the comma separates decimals. */
const SEPARATOR = (1.1).toLocaleString().includes(",") ? ";" : ",";
/**
 * Where spreadsheets begin to read a formula: at the beginning of a cell, or of what they take for one if they expect
 * another separator.
 */
const BEFORE_FORMULA = /(?<=^|[,;\t\r\n])(?=["']*[=+\-@\t\r\n＝＋－＠])/g;
/** An apostrophe that stands there. */
const APOSTROPHE = /(?<=^|[,;\t\r\n])'(?=["']*[=+\-@\t\r\n＝＋－＠])/g;

/** `header` is an array of texts, and `rows` an array of such arrays. */
export function csvText(header, rows) {
  const line = (cells) => `${cells.map(quoted).join(SEPARATOR)}\r\n`;
  return BYTE_ORDER_MARK + [header, ...rows].map(line).join("");
}

function quoted(value) {
  const text = guard(String(value ?? ""));
  return /[",;\r\n\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Puts an apostrophe before what a spreadsheet would run as a formula. */
function guard(text) {
  return text.replace(BEFORE_FORMULA, "'");
}

/** Removes the apostrophes that `guard` has added. */
function unguarded(text) {
  return text.replace(APOSTROPHE, "");
}

/**
 * Returns the `header`, the `rows`, each with its `line` and its `cells`, and the `errors`, each with its `line` and its
 * `text`. Cells are separated by commas or semicolons, whichever the header has more of. Empty lines are left out.
 */
export function parseCsv(text) {
  const content = text.replace(BYTE_ORDER_MARK, "");
  const { records, errors } = split(content, separatorOf(content));
  const [header, ...rows] = records.filter(({ cells }) => cells.some((cell) => cell.trim()));
  if (!header) return { header: [], rows: [], errors: [...errors, { line: 1, text: "The file is empty." }] };
  const width = header.cells.length;
  for (const { line, cells } of rows) {
    // Some spreadsheets leave out the empty cells at the end of a line, and others add some.
    if (cells.slice(width).some((cell) => cell.trim())) errors.push({ line, text: `There are ${cells.length} cells, but ${width} columns.` });
    while (cells.length < width) cells.push("");
  }
  return { header: header.cells, rows, errors };
}

function separatorOf(content) {
  const [first] = content.replace(/"[^"]*"/g, "").trimStart().split(/[\r\n]/, 1);
  return first.split(";").length > first.split(",").length ? ";" : ",";
}

/** Splits the text into records, which can have several lines. */
function split(content, separator) {
  const records = [];
  const errors = [];
  // A cell, in quotes or not, and what ends it.
  const cell = new RegExp(`(?:"((?:[^"]|"")*)"([^${separator}\\r\\n]*)|([^${separator}\\r\\n]*))(${separator}|\\r\\n|\\r|\\n|$)`, "y");
  let record = { line: 1, cells: [] };
  let line = 1;
  while (cell.lastIndex < content.length || record.cells.length) {
    const [all, inQuotes, rest, plain, end] = cell.exec(content);
    if (rest?.trim()) errors.push({ line, text: "There is text after a closing quote." });
    else if (plain?.startsWith('"')) errors.push({ line, text: "A quote is not closed." });
    record.cells.push(unguarded(inQuotes?.replaceAll('""', '"') ?? plain));
    line += all.split(/\r\n|\r|\n/).length - 1;
    if (end === separator) continue;
    records.push(record);
    record = { line, cells: [] };
  }
  return { records, errors };
}

/** Downloads the text as a file. Returns whether the download could be begun. */
export function save(name, text) {
  try {
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    link.click();
    // The browser must have begun to read it by then.
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    return true;
  } catch {
    return false;
  }
}
