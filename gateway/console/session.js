// The signed-in user of this tab. The token is in memory and in sessionStorage, which other tabs and later
// visits cannot read.

const KEY = "rolegate.session";

class Session extends EventTarget {
  /** `{token, username, id, role, expires}`, or null. `expires` is a time of this browser's clock. */
  user = JSON.parse(sessionStorage.getItem(KEY));
  #timer;

  constructor() {
    super();
    this.#watch();
  }

  /** `now`: the server's clock, from which this browser's may differ, in milliseconds. */
  start(token, username, now) {
    const { sub, role, exp } = claims(token);
    const expires = Date.now() + (exp * 1000 - now) || undefined;
    const before = this.user?.id;
    this.#set({ token, username, id: Number(sub), role, expires });
    this.#emit("start", { isOther: before !== undefined && before !== Number(sub) });
  }

  /** The stored role, which may have changed since the token was issued. */
  setRole(role) {
    if (!this.user || role === this.user.role) return;
    this.#set({ ...this.user, role });
    this.#emit("role");
  }

  /** The token is no longer valid. The page keeps what was typed until the next sign-in. */
  end(reason) {
    if (!this.user?.token) return;
    this.#set({ ...this.user, token: undefined });
    this.#emit("end", { reason });
  }

  signOut(reason) {
    this.#set(null);
    this.#emit("out", { reason });
  }

  #set(user) {
    this.user = user;
    if (user?.token) sessionStorage.setItem(KEY, JSON.stringify(user));
    else sessionStorage.removeItem(KEY);
    this.#watch();
  }

  #watch() {
    clearTimeout(this.#timer);
    const { token, expires } = this.user ?? {};
    if (!token || !expires) return;
    this.#timer = setTimeout(() => this.end("Your session has expired."), Math.max(0, expires - Date.now()));
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** For display; only the API decides. */
function claims(token) {
  try {
    return JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return {};
  }
}

export const session = new Session();
