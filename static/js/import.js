// The form of an import: refuses a file that is too large, and says that one is being sent.

const form = document.querySelector("[data-import]");
const { file } = form.elements;

file.addEventListener("change", () => {
  const isTooLarge = file.files[0]?.size > Number(file.dataset.maxBytes);
  file.setCustomValidity(isTooLarge ? file.dataset.tooLarge : "");
  file.reportValidity();
});

form.addEventListener("submit", () => {
  form.querySelector("[type=submit]").disabled = true;
  form.querySelector("progress").hidden = false;
  form.querySelector("[role=status]").textContent = form.dataset.import;
});
