// Drafts: what is typed and not sent yet outlives a reload of this tab, until it is sent or its writer signs out.

const PREFIX = "legible:draft:";
const SIGNED_OUT = "legible:signed-out"; // tells the other tabs

const textarea = document.querySelector("[data-composer]")?.elements.text;
const key = `${PREFIX}${location.pathname}`; // of this conversation

let stored = "";

const save = () => {
  if (textarea.value === stored) return;
  stored = textarea.value;
  if (stored) sessionStorage.setItem(key, stored);
  else sessionStorage.removeItem(key);
};

const forgetAll = () => {
  Object.keys(sessionStorage).filter((name) => name.startsWith(PREFIX)).forEach((name) => sessionStorage.removeItem(name));
};

if (textarea) {
  stored = sessionStorage.getItem(key) ?? "";
  textarea.value ||= stored; // unless the server put a refused text back
  // composer.js empties it when a text is sent, and puts it back if that is refused
  ["input", "htmx:wsAfterSend", "htmx:wsAfterMessage"].forEach((name) => document.addEventListener(name, save));
}

document.addEventListener("submit", ({ target, defaultPrevented }) => {
  if (target.matches("[data-composer]") && !defaultPrevented) sessionStorage.removeItem(key); // posted, without a socket
  if (!target.getAttribute("action")?.endsWith("/logout/")) return;
  forgetAll();
  localStorage.setItem(SIGNED_OUT, Date.now());
});

addEventListener("storage", (event) => {
  if (event.key === SIGNED_OUT) forgetAll();
});
