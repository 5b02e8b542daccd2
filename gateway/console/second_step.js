// The second step of the signed-in user: a code of an application on a phone, after the password.

import { call, explain } from "./api.js";
import { copyButton, copyOnce } from "./copy.js";
import { button, el, field, fill, notify, plainInput } from "./dom.js";
import { form } from "./form.js";
import { picture } from "./picture.js";
import { session } from "./session.js";
import { failure } from "./states.js";

const PATH = "/profile/second-factor";

export function secondStep() {
  const element = el("div", { class: "second-step", tabindex: "-1", role: "group", "aria-label": "Second step" });
  const left = el("p", {});
  /** What is shown; undefined if neither is. */
  let isOn;
  /** Nothing takes away what is shown once, and may not have been scanned yet. */
  const isBegun = () => element.querySelector(".once");

  async function load() {
    try {
      const { enabled, recovery_codes: count } = await call("GET", PATH);
      if (isBegun()) return;
      left.textContent = `It is on. ${count} of 10 recovery codes are left; for new ones, turn it off and on again.`;
      if (enabled !== isOn) fill(element, enabled ? [left, turnOff()] : turnOn());
      isOn = enabled;
    } catch (error) {
      if (isBegun()) return;
      isOn = undefined;
      fill(element, failure(explain(error), load));
    }
  }

  function turnOn() {
    const current = el("input", { name: "current", type: "password", autocomplete: "current-password", required: true });
    return form({
      name: "Turn on the second step",
      fields: [
        el("small", {}, "Each sign-in then asks for a code of an application on your phone, after the password. API keys go on without one; programs that send your password stop working."),
        field("Current password", current),
      ],
      submit: "Begin",
      act: async () => {
        const begun = await call("POST", PATH, { body: { current_password: current.value } });
        const image = await picture(begun.otpauth_url, "Picture of the secret, for the camera of a phone");
        isOn = undefined;
        fill(element, once(begun, image));
        element.focus();
      },
    }).element;
  }

  function turnOff() {
    const code = codeInput({});
    return form({
      name: "Turn off the second step",
      fields: field("One-time code or recovery code", code),
      submit: "Turn off",
      isDangerous: true,
      act: async () => {
        await call("DELETE", PATH, { body: { otp: code.value } });
        await load();
        element.focus();
        notify("The second step is off.");
      },
    }).element;
  }

  return { element, load };
}

function codeInput(attributes) {
  return plainInput({ name: "otp", autocomplete: "one-time-code", required: true, ...attributes });
}

/** All that is shown once, until the first code. */
function once({ secret, otpauth_url: url, recovery_codes: codes }, image) {
  const code = codeInput({ inputmode: "numeric" });
  const sheet = el(
    "div",
    { class: "sheet" },
    el("p", {}, `Recovery codes of ${session.user.username} at ${location.host}`),
    el("ol", {}, codes.map((one) => el("li", {}, el("code", {}, one)))),
  );
  const confirm = form({
    name: "Confirm the second step",
    fields: [
      el("small", {}, "Ends every access token and every session, this one too: you sign in again, with a code."),
      field("One-time code", code, "The six digits that the application shows."),
    ],
    submit: "Turn on",
    act: async () => {
      await call("PUT", PATH, { body: { otp: code.value } });
      session.tellSignedOut();
      session.end("The second step is on: have your phone at hand.");
    },
  });
  return el(
    "div",
    { class: "once" },
    el("h3", {}, "1. Scan this with an application for one-time codes"),
    image,
    copyOnce(image ? "Or type this secret there" : "Type this secret there", secret),
    el("p", {}, el("a", { href: url }, "Or open an application on this device")),
    el("h3", {}, "2. Keep the recovery codes, but not on the phone"),
    el("p", {}, "Each is good once in the place of a code. You need one if you lose the phone. They are not shown again."),
    sheet,
    el("p", { class: "actions" }, copyButton("Copy", () => codes.join("\n")), button("Print", { class: "quiet small" }, () => print())),
    el("h3", {}, "3. Type the first code"),
    confirm.element,
  );
}
