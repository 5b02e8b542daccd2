// Turns on and off the second step of the signed-in user: a code from an app on a phone, after the password.

import { call, explain } from "./api.js";
import { copyButton, copyOnce } from "./copy.js";
import { button, el, field, fill, notify, plainInput } from "./dom.js";
import { form } from "./form.js";
import { picture } from "./picture.js";
import { session } from "./session.js";
import { failure } from "./states.js";
import { say } from "./texts.js";

const PATH = "/profile/second-factor";

/** `othersEnded` runs when other sessions have ended. */
export function secondStep(othersEnded) {
  const element = el("div", { class: "second-step", tabindex: "-1", role: "group", "aria-label": say("second_step.title") });
  const left = el("p", {});
  /** Which state is shown; undefined if neither is. */
  let isOn;
  /** Nothing may replace a new secret, which the user may not have scanned yet. */
  const isBegun = () => element.querySelector(".once");

  async function load() {
    try {
      const { enabled, recovery_codes: count } = await call("GET", PATH);
      if (isBegun()) return;
      left.textContent = say("second_step.left", { count });
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
      name: say("second_step.turn_on"),
      fields: [
        el("small", {}, say("second_step.turn_on_hint")),
        field(say("password.current"), current),
      ],
      submit: say("second_step.begin"),
      act: async () => {
        const begun = await call("POST", PATH, { body: { current_password: current.value } });
        const image = await picture(begun.otpauth_url, say("second_step.picture"));
        isOn = undefined;
        fill(element, once(begun, image, confirmed));
        element.focus();
      },
    }).element;
  }

  /** Runs after the first code: the service has ended the other sessions. */
  async function confirmed() {
    othersEnded();
    await show(say("second_step.is_on"));
  }

  /** Shows the new state, and `text` in a notice. */
  async function show(text) {
    fill(element);
    await load();
    element.focus();
    notify(text);
  }

  function turnOff() {
    const code = codeInput({});
    return form({
      name: say("second_step.turn_off"),
      fields: field(say("second_step.any_code"), code),
      submit: say("second_step.submit_off"),
      isDangerous: true,
      act: async () => {
        await call("DELETE", PATH, { body: { otp: code.value } });
        await show(say("second_step.is_off"));
      },
    }).element;
  }

  return { element, load };
}

function codeInput(attributes) {
  return plainInput({ name: "otp", autocomplete: "one-time-code", required: true, ...attributes });
}

/** Shows the new secret and codes, which are shown once, and asks for the first code. */
function once({ secret, otpauth_url: url, recovery_codes: codes }, image, confirmed) {
  const code = codeInput({ inputmode: "numeric" });
  const sheet = el(
    "div",
    { class: "sheet" },
    el("p", {}, say("second_step.sheet", { user: session.user.username, host: location.host })),
    el("ol", {}, codes.map((one) => el("li", {}, el("code", {}, one)))),
  );
  const confirm = form({
    name: say("second_step.confirm"),
    fields: [
      el("small", {}, say("second_step.confirm_hint")),
      field(say("second_step.code"), code, say("second_step.code_hint")),
    ],
    submit: say("second_step.submit_on"),
    act: async () => {
      await call("PUT", PATH, { body: { otp: code.value } });
      await confirmed();
    },
  });
  return el(
    "div",
    { class: "once" },
    el("h3", {}, say("second_step.scan")),
    image,
    copyOnce(say(image ? "second_step.or_type" : "second_step.type"), secret),
    el("p", {}, el("a", { href: url }, say("second_step.open"))),
    el("h3", {}, say("second_step.keep")),
    el("p", {}, say("second_step.keep_hint")),
    sheet,
    el("p", { class: "actions" }, copyButton(say("copy.copy"), () => codes.join("\n")), button(say("second_step.print"), { class: "quiet small" }, () => print())),
    el("h3", {}, say("second_step.first_code")),
    confirm.element,
  );
}
