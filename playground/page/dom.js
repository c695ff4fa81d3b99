// Elements made by code. Every text becomes a text node: nothing that comes from outside is ever markup.

/** Longer texts of one message or name are cut. */
const MOST_TEXT = 4_000;
const FIRST = 50;

/**
 * @param {string} name
 * @param {Record<string, string | boolean | EventListener>} [properties] attributes; `onclick` and its like are listeners
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** @param {string} text @param {EventListener} onclick @param {string} [kind] its class */
export function button(text, onclick, kind) {
  return el("button", kind ? { type: "button", class: kind, onclick } : { type: "button", onclick }, text);
}

/** @param {string} text */
export function clip(text, most = MOST_TEXT) {
  return text.length <= most ? text : `${text.slice(0, most)} … and ${number(text.length - most)} more characters`;
}

/** The beginning of a text that stands somewhere else in full. @param {string} text */
export function shorten(text, most) {
  return text.length <= most ? text : `${text.slice(0, most).trimEnd()} …`;
}

/** @param {number} value */
export function number(value) {
  return value.toLocaleString("en");
}

/** @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/**
 * The beginning of a long list, and a button that shows more of it.
 * @template T
 * @param {HTMLElement} list
 * @param {T[]} items
 * @param {(item: T, index: number) => Node} draw
 */
export function listed(list, items, draw, first = FIRST) {
  let shown = 0;
  const grow = (count) => {
    list.append(...items.slice(shown, shown + count).map((item, index) => draw(item, shown + index)));
    shown = Math.min(items.length, shown + count);
  };
  grow(first);
  if (shown === items.length) return list;
  const more = button("", () => {
    const next = shown;
    grow(10 * first);
    more.hidden = shown === items.length;
    more.textContent = rest();
    // The button may be gone: whoever pressed it goes on at what is new.
    const item = list.children[next];
    item.tabIndex = -1;
    item.focus();
  });
  const rest = () => `and ${number(items.length - shown)} more`;
  more.textContent = rest();
  return el("div", {}, list, more);
}
