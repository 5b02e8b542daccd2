// Before the first paint, so that a reload does not show the sign-in form to a user who is signed in.
document.documentElement.classList.toggle("signed-in", sessionStorage.getItem("rolegate.session") !== null);
