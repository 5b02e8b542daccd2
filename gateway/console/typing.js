// Inputs whose text is used as it is typed, after a pause.

/**
 * `changed(isTyping)` runs `pause` milliseconds after the last key in one of `inputs`. `isTyping` is true from its
 * second run until the input loses the focus. `send` runs it at once, for other controls.
 */
export function typing(inputs, pause, changed) {
  let timer;
  let isTyping = false;
  const send = () => {
    clearTimeout(timer);
    timer = undefined;
    changed(isTyping);
  };
  for (const input of inputs) {
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        send();
        isTyping = true;
      }, pause);
    });
    input.addEventListener("blur", () => (isTyping = false));
  }
  return {
    send,
    /** Whether `changed` has yet to run for the last key. */
    get isPending() {
      return timer !== undefined;
    },
  };
}
