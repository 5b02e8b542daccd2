// Numbers of things in words.

/** Returns such as "1,234 users" or "1 user". */
export function count(number, noun = "user", plural = `${noun}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}
