// Editing a question or a queued message in place, and stepping between its versions (branches).

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  const textarea = detail.elt.querySelector("[data-edit-form] textarea:focus");
  textarea?.setSelectionRange(textarea.value.length, textarea.value.length);
});

const cancelEdit = (form) => {
  const card = form.closest("article");
  form.remove();
  card.querySelector("[data-edit]").focus();
};

document.addEventListener("click", (event) => {
  const cancel = event.target.closest("[data-edit-cancel]");
  if (!cancel) return;
  event.preventDefault();
  cancelEdit(cancel.closest("form"));
});

document.addEventListener("keydown", (event) => {
  const form = event.target.closest("[data-edit-form]");
  if (!form) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  if (event.key !== "Escape") return;
  event.stopPropagation(); // Escape must not stop a running answer as well
  cancelEdit(form);
}, true);

// A message that is sent while it is edited takes its form with it: what was typed goes to the composer.

let queuedEdit = null;

document.addEventListener("input", ({ target }) => {
  if (target.matches(".queued [data-edit-form] textarea")) queuedEdit = target;
});

document.addEventListener("htmx:wsAfterMessage", () => {
  if (!queuedEdit || queuedEdit.isConnected) return;
  const isSubmitted = queuedEdit.form === submittedForm;
  if (!isSubmitted) document.dispatchEvent(new CustomEvent("legible:draft", { detail: queuedEdit.value }));
  queuedEdit = null;
});

// A submitted form disappears with its card; move the focus that it had to the composer.

let submittedForm = null;

document.addEventListener("submit", ({ target }) => {
  if (target.matches("[data-edit-form]")) submittedForm = target;
});

document.addEventListener("htmx:wsAfterMessage", () => {
  if (!submittedForm || submittedForm.isConnected) return;
  submittedForm = null;
  if (document.activeElement === document.body) document.getElementById("text").focus({ preventScroll: true });
});

// Another version: its cards come over the socket; focus the version buttons of the new question.

let pendingTools = "";

document.addEventListener("click", ({ target }) => {
  const step = target.closest("[data-branch]");
  if (step) pendingTools = `#m-${step.dataset.branch}-q-tools`;
});

document.addEventListener("htmx:wsAfterMessage", () => {
  const tools = pendingTools && document.querySelector(pendingTools);
  if (!tools) return;
  pendingTools = "";
  tools.scrollIntoView({ block: "nearest" });
  tools.querySelector("button:enabled").focus();
});
