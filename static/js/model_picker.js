// The pickers of model and effort follow what was chosen by a command or on another page.

const updateEfforts = (efforts) => {
  const picker = document.getElementById("effort-pick");
  const options = efforts.map(([value, label, isChosen]) => new Option(label, value, false, isChosen));
  const labels = (list) => [...list].map((option) => option.text).join();
  if (labels(options) !== labels(picker.options)) picker.replaceChildren(...options);
  picker.value = efforts.find(([, , isChosen]) => isChosen)?.[0] ?? "";
  picker.parentElement.hidden = !efforts.length;
};

export const updateModel = ({ model, label, efforts }) => {
  updateEfforts(efforts);
  const picker = document.getElementById("model-pick");
  if (!picker.matches("select")) return picker.firstElementChild.replaceChildren(label); // one model only
  const option = [...picker.options].find(({ value }) => value === model);
  if (option) option.text = label;
  else picker.add(new Option(label, model));
  picker.value = model;
};
