// A list of conversations to select from: how many are selected. Its buttons are off until one is.

const form = document.querySelector("[data-selection]");

const update = () => {
  const selected = form.querySelectorAll("[name=chat]:checked").length;
  form.querySelector("[data-count]").textContent = selected;
  form.querySelectorAll("[name=do]").forEach((button) => {
    button.disabled = !selected;
  });
};

if (form) {
  form.addEventListener("change", update);
  addEventListener("pageshow", update); // from the back/forward cache with boxes checked
  update();
}
