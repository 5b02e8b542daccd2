// Reads and checks a CSV file of people who are to become users. Nothing is sent here.

import { parseCsv } from "./csv.js";

export const MAX_LINES = 5000;
const MAX_BYTES = 1_000_000;
const MAX_NAME = 255;
const MAX_GROUPS = 100;
const COLUMNS = ["username", "role", "groups", "until"];
/** The columns of an exported list that an import leaves out. */
const LEFT_OUT = ["id", "disabled", "second_factor", "has_password", "last_sign_in_at", "created_at"];
const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;
/** The service also refuses others, which the result of the import then says. */
const INVISIBLE = /[\u00A0\u00AD\u200B\u200E\u200F\u2028-\u202F\u2060-\u206F\u3000\uFEFF]/;

/** Returns the text of the file. Throws an Error that says why the file cannot be read. */
export async function readText(file) {
  if (file.size > MAX_BYTES) throw new Error("The file is larger than 1 MB.");
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error("The file is not in UTF-8. Save it as “CSV UTF-8”.");
  }
}

/**
 * Returns the `people`, each with the `line`, the `username`, the `role`, the `groups` as they are in `groups`, and the
 * end `until`; the `errors`, each with its `line` and `text`; and the columns that are `leftOut`.
 */
export function checkFile(text, { roles, groups }) {
  const { header, rows, errors } = parseCsv(text);
  const names = header.map((name) => name.trim().toLowerCase());
  errors.push(...headerErrors(names));
  if (!errors.length && !rows.length) errors.push({ line: 1, text: "The file has no lines below the header." });
  if (rows.length > MAX_LINES) errors.push({ line: rows[MAX_LINES].line, text: `There are more than ${MAX_LINES.toLocaleString("en")} users.` });
  if (errors.length) return { people: [], errors: sorted(errors), leftOut: [] };
  const lines = new Map();
  const people = rows.map(({ line, cells }) => {
    const cell = (name) => cells[names.indexOf(name)]?.trim() ?? "";
    const report = (problem) => problem && errors.push({ line, text: problem });
    const username = cell("username").normalize("NFC");
    report(nameError(username));
    if (username && lines.has(username)) report(`${username} is in line ${lines.get(username)} already.`);
    else lines.set(username, line);
    const role = cell("role") || "user";
    if (!roles.includes(role)) report(`There is no role ${role}.`);
    const until = endOf(cell("until"), report);
    return { line, username, role, groups: groupsOf(cell("groups"), groups, report), until };
  });
  return { people, errors: sorted(errors), leftOut: names.filter((name) => LEFT_OUT.includes(name)) };
}

function sorted(errors) {
  return errors.sort((one, other) => one.line - other.line);
}

function headerErrors(names) {
  const known = [...COLUMNS, ...LEFT_OUT];
  const texts = names.map((name, index) => {
    // Spreadsheets add columns without a name.
    if (name && !known.includes(name)) return `The column ${name} is not known.`;
    return name && names.indexOf(name) !== index ? `The column ${name} is there twice.` : undefined;
  });
  if (!names.includes("username")) texts.push("The column username is missing.");
  return texts.filter(Boolean).map((text) => ({ line: 1, text }));
}

/** The rules for usernames, in the words of the service. */
function nameError(name) {
  if (!name) return "The username is missing.";
  if (new TextEncoder().encode(name).length > MAX_NAME) return "Username must have 1 to 255 bytes.";
  if (/\p{Cc}/u.test(name)) return "Username must not contain control characters.";
  if (name.includes(":")) return "Username must not contain a colon.";
  return INVISIBLE.test(name) ? "Username must not contain invisible or unassigned characters." : undefined;
}

function groupsOf(text, groups, report) {
  const names = [...new Set(text.split(/[\s;|]+/).filter(Boolean))];
  if (names.length > MAX_GROUPS) report(`A user is in at most ${MAX_GROUPS} groups.`);
  for (const name of names) if (!groups.some((group) => group.name === name)) report(`There is no group ${name}.`);
  return groups.filter(({ name }) => names.includes(name));
}

/** Returns the end as the API takes it, or null. A date means the end of that day in the time zone of this browser. */
function endOf(text, report) {
  if (!text) return null;
  const end = new Date(DATE.test(text) ? `${text}T00:00` : text);
  // Some browsers take 31 February for a day of March.
  const exists = !Number.isNaN(end.getTime()) && Number(text.slice(8, 10)) <= new Date(text.slice(0, 4), text.slice(5, 7), 0).getDate();
  if (!(DATE.test(text) || TIME.test(text)) || !exists) {
    report(`${text} is neither a date, such as 2026-12-31, nor a time in RFC 3339.`);
    return null;
  }
  if (DATE.test(text)) end.setDate(end.getDate() + 1);
  if (end <= Date.now()) report("The end must be in the future.");
  if (end.getUTCFullYear() > 9999) report("The end must be before the year 10000.");
  return end.toISOString().replace(/\.\d+/, "");
}
