// Documents of a collection: each chosen or dropped file is uploaded by itself, two at a time, with its progress.

const form = document.querySelector("[data-add-documents]");
const uploads = document.querySelector("[data-uploads]");
const page = document.querySelector(".main");
const AT_ONCE = 2;

const waiting = [];
let running = 0;

const newItem = (file) => {
  const item = document.createElement("li");
  const name = document.createElement("span");
  const progress = document.createElement("progress");
  item.className = "row";
  name.textContent = file.name;
  name.dir = "auto";
  progress.max = 1;
  progress.value = 0;
  progress.ariaLabel = file.name;
  item.append(name, progress);
  uploads.append(item);
  return item;
};

const showFailure = (item, words) => {
  const text = document.createElement("span");
  text.className = "errorlist";
  text.role = "alert";
  item.replaceChildren(text);
  item.toggleAttribute("data-refused", true);
  text.textContent = words;
};

const refusal = (request, file) => {
  try {
    return JSON.parse(request.responseText).error.message;
  } catch {
    return `${file.name}: ${form.dataset.failed}`;
  }
};

const finish = ({ item, file }, request) => {
  running -= 1;
  if (request.status === 201) {
    item.remove();
    htmx.trigger("#documents", "legible:added");
  } else {
    showFailure(item, refusal(request, file));
  }
  start();
};

const send = (next) => {
  const body = new FormData();
  body.append("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
  body.append("files", next.file);
  const request = new XMLHttpRequest(); // fetch reports no progress of an upload
  request.open("POST", location.pathname);
  request.setRequestHeader("HX-Request", "true");
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    next.item.querySelector("progress").value = loaded / total;
  });
  request.addEventListener("loadend", () => finish(next, request));
  running += 1;
  request.send(body);
};

const start = () => {
  while (waiting.length && running < AT_ONCE) send(waiting.shift());
};

const add = (files) => {
  uploads.querySelectorAll("[data-refused]").forEach((item) => item.remove()); // of the files before
  for (const file of files) {
    const item = newItem(file);
    if (file.size > Number(form.dataset.maxBytes)) showFailure(item, `${file.name}: ${form.dataset.tooLarge}`);
    else waiting.push({ item, file });
  }
  start();
};

const { files } = form.elements;

files.addEventListener("change", () => {
  add([...files.files]);
  form.reset();
});

const hasFiles = ({ dataTransfer }) => dataTransfer?.types.includes("Files");

page.addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  form.toggleAttribute("data-drop", true);
});

page.addEventListener("dragleave", ({ relatedTarget }) => {
  if (!page.contains(relatedTarget)) form.removeAttribute("data-drop");
});

page.addEventListener("drop", (event) => {
  form.removeAttribute("data-drop");
  if (!hasFiles(event)) return;
  event.preventDefault();
  add([...event.dataTransfer.files]);
});

// What was not sent yet would be lost.
addEventListener("beforeunload", (event) => {
  if (running) event.preventDefault();
});
