// Elements, made without markup: whatever a tool said becomes a text node and nothing else.

/** An element: `h('button.small', {onclick}, 'text', child)`. Children that are null or false are left out. */
export function h(name, props = {}, ...children) {
  const [tag, ...classes] = name.split('.');
  return fill(document.createElement(tag), classes, props, children);
}

/** The same for what is drawn. */
export function svg(name, props = {}, ...children) {
  const [tag, ...classes] = name.split('.');
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), classes, props, children);
}

function fill(element, classes, props, children) {
  if (classes.length) element.classList.add(...classes);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...present(children));
  return element;
}

/** Children that are there. */
const present = children => children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false);

/** Has these children and no others. */
export const refill = (element, ...children) => element.replaceChildren(...present(children));

/** A button that does something. */
export const button = (label, onclick, props = {}) => h('button', { type: 'button', onclick, ...props }, label);

/** A sign of the page's own, drawn. */
export function sign(name) {
  const paths = {
    copy: 'M5 5V3h8v8h-2M3 5h8v8H3z',
    sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.5 1.5M11.5 11.5L13 13M13 3l-1.5 1.5M4.5 11.5L3 13',
    moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z',
    auto: 'M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12',
    right: 'M6 3l5 5-5 5',
    back: 'M10 3L5 8l5 5',
    up: 'M3 10l5-5 5 5',
    down: 'M3 6l5 5 5-5',
    close: 'M4 4l8 8M12 4l-8 8',
    find: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.5 10.5L14 14',
    link: 'M9 3h4v4M13 3L7 9M11 9v4H3V5h4',
  };
  return svg('svg.sign', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, svg('path', { d: paths[name] }));
}

/** Puts text where other programs can take it. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Only pages of this machine or over HTTPS may use the clipboard; others may do as if somebody had typed.
    const field = h('textarea.offscreen', { 'aria-hidden': 'true' });
    field.value = text;
    (document.querySelector('dialog[open]') ?? document.body).append(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    if (!done) return say(`This browser does not let the page copy. It is: ${text}`);
  }
  say(`Copied ${what}`);
}

/** A button that copies. */
export const copyButton = (text, what) =>
  h('button.copy', { type: 'button', title: `Copy ${what}`, 'aria-label': `Copy ${what}`, onclick: () => copy(typeof text === 'function' ? text() : text, what) }, sign('copy'));

let fading;

/** Says something for a moment, also to those who do not see it. */
export function say(text) {
  const said = document.getElementById('said');
  said.textContent = text;
  said.classList.add('shown');
  clearTimeout(fading);
  fading = setTimeout(() => said.classList.remove('shown'), 2500);
}

/** Says something only to those who do not see it. */
export function tell(text) {
  document.getElementById('told').textContent = text;
}

/** Calls at most once in so many milliseconds, and always with what came last. */
export function calmly(milliseconds, act) {
  let timer = 0;
  return () => {
    timer ||= setTimeout(() => {
      timer = 0;
      act();
    }, milliseconds);
  };
}
