// The block of an answer that still grows: its HTML up to the tip, where text is added, and the end tags behind it.

let open = { element: null, html: "" }; // up to the tip, as the server knows it

const escape = (text) => text.replace(/[&<>]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[char]);

const parse = (html) => new DOMParser().parseFromString(html, "text/html").body;

// Make one element's children those of another; what both have is left alone, with what a reader selected in it.
const updateChildren = (element, wanted) => {
  const nodes = [...wanted.childNodes];
  nodes.forEach((node, index) => {
    const own = element.childNodes[index];
    if (!own) element.append(node);
    else if (own.isEqualNode(node)) return;
    else if (own.nodeName !== node.nodeName) own.replaceWith(node);
    else if (own.nodeType === Node.TEXT_NODE) updateText(own, node.data);
    else updateElement(own, node);
  });
  while (element.childNodes.length > nodes.length) element.lastChild.remove();
};

const updateText = (own, text) => {
  if (text.startsWith(own.data)) own.appendData(text.slice(own.data.length));
  else own.data = text;
};

const updateElement = (own, wanted) => {
  for (const { name } of [...own.attributes]) if (!wanted.hasAttribute(name)) own.removeAttribute(name);
  for (const { name, value } of wanted.attributes) own.setAttribute(name, value);
  updateChildren(own, wanted);
};

const remember = (element) => {
  if (open.element !== element) open = { element, html: "" };
};

// Each change: text that came before it, how much of the HTML stays, what follows, and how much of both is finished.
export const redrawBlock = (element, changes) => {
  remember(element);
  let [finished, end] = ["", ""];
  for (const change of changes) {
    const html = (open.html + escape(change.text)).slice(0, change.same) + change.html;
    finished += html.slice(0, change.finished);
    open.html = html.slice(change.finished);
    ({ end } = change);
  }
  updateChildren(element, parse(`${finished}${open.html}<span class="tip"></span>${end}`));
  for (const _node of parse(finished).childNodes) element.before(element.firstChild);
};

export const insertAtTip = (element, text) => {
  remember(element);
  open.html += escape(text);
  const tip = element.querySelector(".tip");
  if (tip?.previousSibling?.nodeType === Node.TEXT_NODE) tip.previousSibling.appendData(text);
  else tip?.before(text);
};
