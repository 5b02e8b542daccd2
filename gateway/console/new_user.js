// The dialog that creates a user.

import { call } from "./api.js";
import { copyOnce } from "./copy.js";
import { openDialog } from "./dialog.js";
import { button, el, field, fill, plainInput } from "./dom.js";
import { form } from "./form.js";
import { newPassword } from "./new_password.js";
import { roleOptions } from "./roles.js";

export function openNewUser(created) {
  const content = el("div", {});
  const dialog = openDialog("New user", content);
  const username = plainInput({ name: "username", required: true });
  const { element } = form({
    name: "New user",
    fields: [field("Username", username), newPassword("Password"), field("Role", el("select", { name: "role" }, roleOptions("user")))],
    submit: "Create",
    act: async ({ elements }) => {
      const password = elements.password.value;
      const user = await call("POST", "/users", { body: { username: username.value, password, role: elements.role.value } });
      const done = button("Done", { class: "primary" }, () => dialog.close());
      const text = el("p", { role: "status" }, `${user.username} is created, with id ${user.id} and role ${user.role}.`);
      fill(content, text, copyOnce("Password", password), el("p", { class: "actions" }, done));
      done.focus();
      created(user);
    },
  });
  fill(content, element);
  dialog.showModal();
  username.focus();
}
