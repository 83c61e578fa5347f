// The page: which part of it an address means, and what keys do.

import { h, refill, sign } from './dom.js';
import { askWith } from './api.js';
import { askToken, help } from './dialogs.js';
import { Live } from './live.js';
import { Outputs, Sessions, hashOf, trouble } from './lists.js';
import { OutputPage } from './output.js';
import { Stats } from './stats.js';

askWith(askToken);

const crumbs = h('nav.crumbs', { 'aria-label': 'Where you are' });
const theme = h('button.icon', { type: 'button', onclick: () => nextTheme() });
const stage = h('div.stage');
document.body.replaceChildren(
  h('a.skip', { href: '#main', onclick: event => {
    event.preventDefault();
    document.getElementById('main')?.focus();
  } }, 'Skip to the content'),
  h('header.top', {}, h('a.brand', { href: '#/' }, h('img', { src: 'icon.svg', alt: '', width: 20, height: 20 }), 'Forebay'), crumbs,
    theme, h('button.icon', { type: 'button', title: 'Keys (?)', 'aria-label': 'Keys', onclick: help }, '?')),
  stage,
  h('div', { id: 'said', role: 'status' }),
  h('div.offscreen', { id: 'told', 'aria-live': 'polite' }));

// Light or dark, as the system has it or as somebody chose.
const THEMES = ['auto', 'light', 'dark'];

function setTheme(name) {
  if (name === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  theme.replaceChildren(sign({ auto: 'auto', light: 'sun', dark: 'moon' }[name]));
  const label = `Colours: ${name === 'auto' ? 'as the system has them' : name}`;
  theme.title = label;
  theme.setAttribute('aria-label', label);
}

const kept = () => {
  try {
    return localStorage.getItem('forebay-theme') ?? 'auto';
  } catch {
    return 'auto';
  }
};

let chosenTheme = THEMES.includes(kept()) ? kept() : 'auto';
setTheme(chosenTheme);

function nextTheme() {
  chosenTheme = THEMES[(THEMES.indexOf(chosenTheme) + 1) % THEMES.length];
  setTheme(chosenTheme);
  try {
    localStorage.setItem('forebay-theme', chosenTheme);
  } catch {
    // Then it is forgotten with the page.
  }
}

/** What is shown: a part that fills the stage, the session's list, an output. */
const now = { part: null, live: null, list: null, output: null };

function route() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  let parts;
  try {
    parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    parts = [];
  }
  return { parts, params: Object.fromEntries(new URLSearchParams(query)) };
}

async function show(event) {
  const { parts: [kind, session, what, id], params } = route();
  setCrumbs(session, what === 'outputs' ? id : what);
  if (kind !== 'sessions' || !session) {
    leave();
    now.part?.close();
    now.part = kind === 'stats' ? new Stats(null) : new Sessions();
    stage.className = 'stage';
    stage.replaceChildren(now.part.element);
    return now.part.open();
  }
  now.part?.close();
  now.part = null;
  if (now.live?.session !== session) {
    leave();
    const live = new Live(session);
    Object.assign(now, { live, list: new Outputs(live) });
    now.starting = live.start().catch(error => {
      if (now.live === live) now.list.foot.replaceChildren(trouble(error, () => {
        leave();
        show();
      }));
    });
  }
  if (what === 'stats') {
    closeOutput();
    now.part = new Stats(now.live);
    stage.className = 'stage';
    stage.replaceChildren(now.part.element);
    return now.part.open();
  }
  if (!id) {
    const was = closeOutput();
    stage.className = 'stage split no-output';
    stage.replaceChildren(now.list.element, h('main.output.none', { id: 'main', tabindex: -1 }, h('p.empty', {}, 'Choose an output to see what the model saw of it.')));
    now.list.mark(null);
    if (was) now.list.focus(was);
    return undefined;
  }
  const isNew = now.output?.wanted !== id;
  if (isNew) {
    closeOutput();
    now.output = new OutputPage(now.live, id);
  }
  stage.className = 'stage split';
  if (stage.children[0] !== now.list.element || stage.children[1] !== now.output.element) {
    const focused = document.activeElement;
    stage.replaceChildren(now.list.element, now.output.element);
    if (now.list.element.contains(focused)) focused.focus();
  }
  now.list.mark(id);
  // Which others there are is needed for some of it.
  if (params.tab === 'diff') await now.starting;
  const { output } = now;
  await output.open(params);
  if (output === now.output) now.list.mark(output.id);
  // Whoever opens an output goes on in it; whoever comes by an address has not chosen anything yet.
  if (event && isNew && output === now.output && !params.search && !params.jump) output.focus();
}

/** The output that is open no longer is; gives which it was. */
function closeOutput() {
  const { output } = now;
  output?.close();
  now.output = null;
  return output?.id;
}

function leave() {
  closeOutput();
  now.list?.close();
  now.live?.close();
  now.live = now.list = null;
}

function setCrumbs(session, last) {
  document.title = ['Forebay', session, last].filter(Boolean).join(' · ');
  refill(crumbs, h('a', { href: '#/' }, 'Sessions'),
    session && h('a', { href: hashOf(['sessions', session]) }, session),
    last && h('span', { 'aria-current': 'page' }, last));
}

/** Back, step by step. */
function escape() {
  if (now.output && matchMedia('(min-width: 1000px)').matches && !now.list.element.contains(document.activeElement)) return now.list.focus(now.output.id);
  const { parts: [, session, what] } = route();
  location.hash = what ? hashOf(['sessions', session]) : '#/';
}

function beside(by) {
  const id = now.output && now.list.beside(by);
  if (id) location.hash = hashOf(['sessions', now.live.session, 'outputs', id]);
}

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector('dialog[open]')) return;
  const { target, key } = event;
  if (target.closest('input, textarea, select')) {
    if (key === 'Escape') target.blur();
    return;
  }
  // What has the focus does what it always does.
  if ((key === 'Enter' || key === ' ') && target.closest('button, a, summary')) return;
  const inList = now.list?.element.contains(target);
  const keys = {
    '?': help, Escape: escape,
    s: () => (location.hash = now.live ? hashOf(['sessions', now.live.session, 'stats']) : '#/stats'),
    '[': () => beside(-1), ']': () => beside(1),
    ...now.list?.keys(), ...now.part?.keys(), ...now.output?.keys(), ...(inList ? now.list.keys() : {}),
  };
  if (!keys[key]) return;
  event.preventDefault();
  keys[key]();
});

addEventListener('hashchange', show);
show();
