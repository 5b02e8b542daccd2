// A plugin of Swagger UI. Its dialog Authorize takes a username and a password, and exchanges them for
// a bearer token at POST /login. People can still paste a token instead.
function signIn({ React }) {
  const element = React.createElement;

  function field(label, name, attributes, change) {
    const id = `sign-in-${name}`;
    const input = { id, name, onChange: change, ...attributes };
    return element("div", { key: name }, element("label", { htmlFor: id }, label), element("input", input));
  }

  // HttpAuth is the form of one `http` security scheme. This adds the fields of a login above it, unless
  // the scheme is not `bearer` or a token is already set.
  const wrapHttpAuth = (HttpAuth) => (props) => {
    const { name, schema, authorized, onChange } = props;
    const credentials = React.useRef({});
    const username = React.useRef(null);
    const asks = schema.get("scheme") === "bearer" && !authorized?.getIn([name, "value"]);
    // HttpAuth puts the focus on the token, so this moves it to the username.
    React.useEffect(() => username.current?.focus(), [asks]);
    if (!asks) return element(HttpAuth, props);
    const change = ({ target }) => {
      credentials.current = { ...credentials.current, [target.name]: target.value };
      onChange({ name, schema, value: credentials.current });
    };
    return element(
      "div",
      null,
      element("h4", null, "Sign in"),
      field("Username:", "username", { type: "text", autoComplete: "username", ref: username }, change),
      field("Password:", "password", { type: "password", autoComplete: "current-password" }, change),
      element("p", null, "or paste an access token:"),
      element(HttpAuth, props),
    );
  };

  async function logIn({ username = "", password = "" }) {
    const response = await fetch("/login", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ username, password }),
    });
    const body = await response.json();
    if (!response.ok) throw new Error(body.detail);
    return body.access_token;
  }

  // Wraps the action of the button Authorize. `auths` has the entered values by the name of the scheme.
  // If a login fails, this shows the error and authorizes nothing.
  const wrapAuthorize = (authorize, { errActions }) => async (auths) => {
    const tokens = { ...auths };
    for (const [name, auth] of Object.entries(auths)) {
      if (auth?.schema?.get("scheme") !== "bearer" || typeof auth.value !== "object") continue;
      errActions.clear({ authId: name, type: "auth", source: "auth" });
      try {
        tokens[name] = { ...auth, value: await logIn(auth.value) };
      } catch (error) {
        errActions.newAuthErr({ authId: name, level: "error", source: "auth", message: error.message });
        return;
      }
    }
    authorize(tokens);
  };

  return {
    wrapComponents: { HttpAuth: wrapHttpAuth },
    statePlugins: { auth: { wrapActions: { authorizeWithPersistOption: wrapAuthorize } } },
  };
}
