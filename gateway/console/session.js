// The signed-in user. The session itself is a cookie that no script can read, and that all tabs share.

/** Browsers fire a longer timer at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

class Session extends EventTarget {
  /** `{id, username, role, expires}`, or null before the first answer. `expires` is a time of this browser's clock. */
  user = null;
  isOver = false;
  /** Counts sessions on this page: a late 401 of an earlier one does not end this one. */
  turn = 0;
  #timer;
  /** Tells the other tabs the id of the user, or null after signing out. */
  #tabs = new BroadcastChannel("rolegate-console");

  constructor() {
    super();
    this.#tabs.addEventListener("message", ({ data: id }) => {
      if (!this.user) return;
      if (id === null) this.end();
      else if (id !== this.user.id) this.#emit("other");
      else if (this.isOver) this.#emit("back");
    });
  }

  /** Takes the response to `GET /me`. `now`: the server's time in milliseconds; this browser's may differ. */
  set({ id, username, role, credential }, now) {
    const before = this.user;
    if (before && before.id !== id) return this.#emit("other");
    const isNew = !before || this.isOver;
    this.user = { id, username, role, expires: Date.now() + (Date.parse(credential.expires_at) - now) || undefined };
    this.isOver = false;
    this.#watch();
    if (isNew) {
      this.turn += 1;
      this.#tabs.postMessage(id);
      this.#emit("start");
    } else if (role !== before.role) this.#emit("role");
  }

  /** The page keeps what was typed until the next sign-in. It shows `why`, if that is given. */
  end(why) {
    if (!this.user || this.isOver) return;
    this.isOver = true;
    this.#emit("end", why);
  }

  tellSignedOut() {
    this.#tabs.postMessage(null);
  }

  #watch() {
    clearTimeout(this.#timer);
    const { expires } = this.user;
    if (!expires) return;
    const left = Math.max(0, expires - Date.now());
    const end = () => (left > LONGEST_TIMER ? this.#watch() : this.end());
    this.#timer = setTimeout(end, Math.min(left, LONGEST_TIMER));
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

export const session = new Session();

/** The address of the sign-in page, which leads back here. */
export function signInAddress() {
  return `/sign-in?return=${encodeURIComponent(location.pathname + location.hash)}`;
}
