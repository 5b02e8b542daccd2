// The signed-in user of this tab. The token is in memory and in sessionStorage, which other tabs and later
// visits cannot read.

const KEY = "rolegate.session";
/** Browsers fire a longer timer at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

class Session extends EventTarget {
  /** `{token, username, id, role, expires}`, or null. `expires` is a time of this browser's clock. */
  user = JSON.parse(sessionStorage.getItem(KEY));
  #timer;

  constructor() {
    super();
    this.#watch();
  }

  /** The answer of `GET /me`. `now`: the server's clock, from which this browser's may differ, in milliseconds. */
  start(token, { id, username, role, credential }, now) {
    const expires = Date.now() + (Date.parse(credential.expires_at) - now) || undefined;
    const before = this.user?.id;
    this.#set({ token, username, id, role, expires });
    this.#emit("start", { isOther: before !== undefined && before !== id });
  }

  /** The stored role, which may have changed since the sign-in. */
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
    const left = Math.max(0, expires - Date.now());
    const end = () => (left > LONGEST_TIMER ? this.#watch() : this.end("Your session has expired."));
    this.#timer = setTimeout(end, Math.min(left, LONGEST_TIMER));
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

export const session = new Session();
