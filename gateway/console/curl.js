// Writes a request as a command with curl. Variables stand for secrets: $TOKEN, $PASSWORD, $OTP and so on.

const SECRETS = /^(current_|new_)?password$|^otp$/;

export function curl({ method, path, body }, authorization = ' -H "Authorization: Bearer $TOKEN"') {
  const words = ["curl -sS"];
  if (method !== (body ? "POST" : "GET")) words.push(`-X ${method}`);
  words.push(quote(location.origin + path) + authorization);
  if (body) words.push("-H 'Content-Type: application/json'", `-d ${json(body)}`);
  return words.join(" ");
}

/** A line that creates a session of this user, and sets TOKEN to its token. */
export function signInLine(username) {
  const body = { username, password: "", name: "curl" };
  const request = curl({ method: "POST", path: "/sessions", body }, "");
  return String.raw`read -rs PASSWORD; TOKEN=$(${request} | sed 's/.*"token":"\([^"]*\)".*/\1/')`;
}

function json(body) {
  const fields = Object.entries(body).map(([name, value]) => {
    const isSecret = SECRETS.test(name);
    const text = isSecret ? `"'"$${name.toUpperCase()}"'"` : escapeQuotes(visible(JSON.stringify(value)));
    return `"${name}":${text}`;
  });
  return `'{${fields.join(",")}}'`;
}

function quote(text) {
  return `'${escapeQuotes(text)}'`;
}

function escapeQuotes(text) {
  return text.replaceAll("'", String.raw`'\''`);
}

/** Turns characters that a terminal does not show, or that reverse a line, into JSON escapes. */
function visible(text) {
  const escape = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => character.split("").map(escape).join(""));
}
