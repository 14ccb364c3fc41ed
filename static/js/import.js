// The form of an import: refuses files that are too large together, and says that they are being sent.

const form = document.querySelector("[data-import]");
const { file } = form.elements;

file.addEventListener("change", () => {
  const bytes = Array.from(file.files).reduce((sum, each) => sum + each.size, 0);
  file.setCustomValidity(bytes > Number(file.dataset.maxBytes) ? file.dataset.tooLarge : "");
  file.reportValidity();
});

form.addEventListener("submit", () => {
  form.querySelector("[type=submit]").disabled = true;
  form.querySelector("progress").hidden = false;
  form.querySelector("[role=status]").textContent = form.dataset.import;
});
