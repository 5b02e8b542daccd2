// The dialog that creates a user.

import { call } from "./api.js";
import { copyOnce } from "./copy.js";
import { openDialog } from "./dialog.js";
import { button, el, field, fill, plainInput } from "./dom.js";
import { form } from "./form.js";
import { newPassword } from "./new_password.js";
import { linkOnce } from "./password_link.js";
import { roleOptions } from "./roles.js";

export function openNewUser(created) {
  const content = el("div", {});
  const dialog = openDialog("New user", content);
  const username = plainInput({ name: "username", required: true });
  const role = el("select", { name: "role" }, roleOptions("user"));
  const password = newPassword("Password");
  const isByLink = () => chooser.value === "user";
  const choose = () => {
    password.hidden = isByLink();
    password.querySelector("input").disabled = isByLink();
  };
  const options = [el("option", { value: "" }, "You, now"), el("option", { value: "user" }, "The user, with a link")];
  const chooser = el("select", { name: "chooser", onchange: choose }, options);
  const { element } = form({
    name: "New user",
    fields: [field("Username", username), field("Role", role), field("Who chooses the password", chooser), password],
    submit: "Create",
    act: async ({ elements }) => {
      const body = { username: username.value, role: role.value };
      if (!isByLink()) body.password = elements.password.value;
      const user = await call("POST", "/users", { body });
      const secret = user.password_link ? linkOnce(user.password_link) : copyOnce("Password", body.password);
      const done = button("Done", { class: "primary" }, () => dialog.close());
      const text = el("p", { role: "status" }, `${user.username} was created with the id ${user.id} and the role ${user.role}.`);
      fill(content, text, secret, el("p", { class: "actions" }, done));
      done.focus();
      created(user);
    },
  });
  fill(content, element);
  dialog.showModal();
  username.focus();
}
