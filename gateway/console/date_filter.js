// Filters by a date, which is that of this browser's time zone.

/** While a year is typed, the input has dates of earlier years, which this does not match. */
export const DATE = /^(19|[2-9]\d)\d\d-\d\d-\d\d$/;

/** Returns the beginning of the day, or of a later one, as the API takes it. There is none after the year 9999. */
export function midnight(date, later = 0) {
  const time = new Date(`${date}T00:00`);
  time.setDate(time.getDate() + later);
  return time.getUTCFullYear() > 9999 ? "" : time.toISOString().replace(/\.\d+/, "");
}
