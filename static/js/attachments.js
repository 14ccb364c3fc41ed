// Files for the next message, each uploaded at once and shown above the text. Loaded by composer.js.

const composer = document.querySelector("[data-composer]");
const input = composer.elements.files;
const list = document.getElementById("attached");
const refusals = document.getElementById("refused-files");

const statusNode = document.getElementById("status-node");

// A refusal stays until it is dismissed or the message is sent: nobody has to read it in time.
document.addEventListener("legible:sent", () => refusals.replaceChildren());

const changed = () => composer.dispatchEvent(new CustomEvent("legible:attached"));

const newItem = (file) => {
  const item = document.createElement("li");
  const progress = document.createElement("progress");
  const text = document.createElement("span");
  const name = document.createElement("span");
  item.className = "attachment";
  item.dataset.uploading = "";
  text.className = "attachment__text";
  name.className = "attachment__name";
  name.textContent = file.name;
  progress.max = 1;
  progress.ariaLabel = file.name;
  text.append(name, progress);
  item.append(text);
  list.append(item);
  item.scrollIntoView({ block: "nearest" });
  return item;
};

const showFailure = (item, words) => {
  const line = document.createElement("p");
  const text = document.createElement("span");
  const close = document.createElement("button");
  line.className = "refused-file";
  text.role = "alert";
  close.type = "button";
  close.className = "btn btn--quiet";
  close.dataset.icon = "cross";
  close.ariaLabel = input.dataset.close;
  close.addEventListener("click", () => {
    line.remove();
    input.focus();
  });
  item.remove();
  line.append(text, close);
  refusals.append(line);
  text.textContent = words;
  return text;
};

const refusal = (request, file) => {
  try {
    return JSON.parse(request.responseText).error.message;
  } catch {
    return `${file.name}: ${input.dataset.failed}`;
  }
};

const finish = (item, file, request) => {
  if (!item.isConnected) return;
  if (request.status === 201) {
    item.insertAdjacentHTML("afterend", request.responseText);
    htmx.process(item.nextElementSibling);
    item.remove();
    statusNode.textContent = input.dataset.attached.replace("{name}", () => file.name);
  } else {
    showFailure(item, refusal(request, file));
  }
  changed();
};

// One line names all files for which the message has no room.
let tooMany = null;

const refuseSurplus = (item, { name }) => {
  if (tooMany?.isConnected) tooMany.append(`, ${name}`);
  else tooMany = showFailure(item, `${input.dataset.tooMany} ${name}`);
  item.remove();
  changed();
};

const send = (item, file) =>
  new Promise((ended) => {
    const form = new FormData();
    form.append("csrfmiddlewaretoken", composer.elements.csrfmiddlewaretoken.value);
    form.append("files", file);
    const request = new XMLHttpRequest(); // fetch reports no progress of an upload
    request.open("POST", input.dataset.url);
    request.setRequestHeader("HX-Request", "true");
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      item.querySelector("progress").value = loaded / total;
    });
    request.addEventListener("loadend", () => finish(item, file, request));
    request.addEventListener("loadend", ended);
    request.send(form);
  });

let lastUpload = Promise.resolve(); // one after another: of too many files the first ones are attached

export const upload = (file) => {
  const item = newItem(file);
  changed();
  if (file.size > Number(input.dataset.maxBytes)) {
    showFailure(item, `${file.name}: ${input.dataset.tooLarge}`);
    return changed();
  }
  lastUpload = lastUpload.then(() => {
    if (!item.isConnected) return;
    const attached = list.querySelectorAll("[data-attachment]").length;
    return attached < Number(input.dataset.maxFiles) ? send(item, file) : refuseSurplus(item, file);
  });
};
