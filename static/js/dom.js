// make("div", {class: "card", onclick: f}, "text", child): elements without markup in strings.

export function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "path", "g", "text", "line", "rect", "circle", "title", "polygon"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

export function download(name, blob) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A row of buttons of which one is on; arrow keys move between them.
export function chips(parent, options, chosen, choose, label) {
  const buttons = options.map(({ value, text, title }) => make("button", {
    type: "button", role: "radio", class: value === chosen ? "chip on" : "chip", title,
    "aria-checked": String(value === chosen), tabindex: value === chosen ? 0 : -1, "data-value": value,
    onclick: () => choose(value),
  }, text));
  parent.replaceChildren(...buttons);
  parent.setAttribute("role", "radiogroup");
  parent.setAttribute("aria-label", label);
  parent.onkeydown = (event) => {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    const at = options.findIndex(({ value }) => value === chosen);
    const next = options[(at + move + options.length) % options.length].value;
    choose(next);
    parent.querySelector(`[data-value="${CSS.escape(String(next))}"]`)?.focus();
  };
}
