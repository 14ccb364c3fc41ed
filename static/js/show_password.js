// The switch of a form that shows what is typed into its password fields.

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-show-password]");
  if (!button) return;
  const isShown = button.getAttribute("aria-checked") === "false";
  button.setAttribute("aria-checked", isShown);
  button.form.querySelectorAll("[autocomplete$=password]").forEach((field) => {
    field.type = isShown ? "text" : "password";
  });
});
