// The list of sessions, and the list of a session's outputs.

import { h, button, copyButton, tell } from './dom.js';
import { ask, curlToken, forgetToken, hasToken } from './api.js';
import { inked } from './ink.js';
import { idOf, isGrowing } from './live.js';
import { ago, called, count, grouped, moment, size } from './words.js';

export const hashOf = (parts, params = {}) => {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== undefined && value !== null));
  return `#/${parts.map(encodeURIComponent).join('/')}${query.size ? `?${query}` : ''}`;
};

/** What to do where there is nothing. */
function putOne(session, what) {
  const line = `curl -sT build.log${curlToken} '${location.origin}/v1/sessions/${session}/outputs/call-1?tool=make'`;
  return h('div.empty', {}, h('p', {}, what), h('p', {}, 'Put one, and it appears here:'), h('div.command', {}, h('code', {}, line), copyButton(line, 'the command')),
    h('p.note', {}, 'Or run a command with ', h('code', {}, 'forebay run -- make'), ' and the same FOREBAY_ROOT.'));
}

/** Moves the focus among links. */
function roam(list, by) {
  const links = [...list.querySelectorAll('a.item')];
  const at = links.indexOf(document.activeElement);
  const link = links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + by))];
  link?.focus();
  link?.scrollIntoView({ block: 'nearest' });
}

const listKeys = list => ({
  j: () => roam(list(), 1), ArrowDown: () => roam(list(), 1),
  k: () => roam(list(), -1), ArrowUp: () => roam(list(), -1),
});

/** What we are about when there is trouble. */
export function trouble(error, retry) {
  return h('div.trouble', { role: 'alert' }, h('p', {}, inked(sentence(error.message))), retry && button('Try again', retry),
    error.status === 403 && hasToken() && button('Use another token', forgetToken));
}

const sentence = text => text.charAt(0).toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? '' : '.');

export class Sessions {
  constructor() {
    this.body = h('div');
    this.element = h('main.sessions', { id: 'main', tabindex: -1 }, h('div.title', {}, h('h1', {}, 'Sessions'), h('a.button', { href: '#/stats' }, 'What was saved')), this.body);
  }

  async open() {
    try {
      const { sessions, total } = await ask(['sessions'], { limit: 1000 });
      const told = JSON.stringify(sessions);
      if (told !== this.told) this.draw(sessions, total);
      this.told = told;
    } catch (error) {
      this.told = null;
      this.body.replaceChildren(trouble(error, () => this.open()));
    }
    clearTimeout(this.timer);
    if (!this.isClosed) this.timer = setTimeout(() => this.open(), 3000);
  }

  draw(sessions, total) {
    const focused = document.activeElement?.getAttribute('href');
    this.body.replaceChildren(sessions.length
      ? h('ul.cards', {}, sessions.map(one => h('li', {}, h('a.item', { href: hashOf(['sessions', one.session]) },
        h('span.name', {}, one.session, one.open && h('span.badge.live', {}, 'open')),
        h('span.facts', {}, count('output', one.outputs), ' · ', size(one.bytes), one.latest && [' · ', h('time', { datetime: one.latest, title: moment(one.latest) }, ago(one.latest))])))))
      : putOne('demo', 'No output is kept here yet.'));
    if (total > sessions.length) this.body.append(h('p.note', {}, `and ${count('session', total - sessions.length)} more`));
    if (focused) [...this.body.querySelectorAll('a')].find(link => link.getAttribute('href') === focused)?.focus();
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  keys() {
    return listKeys(() => this.body);
  }
}

/** What the model got of an output, in words. */
export function gotOf(record) {
  const { got } = record;
  if (!got?.as) return isGrowing(record) ? 'nothing yet' : 'nothing';
  return got.as === 'view' ? `a view of ${count('token', got.tokens)}` : `all of it, ${count('token', got.tokens)}`;
}

export function savedOf({ got }) {
  if (!got?.saved) return null;
  return got.saved < 0 ? h('span.saved.bad', {}, `cost ${count('token', -got.saved)}`) : h('span.saved.good', {}, `saved ${grouped(got.saved)}`);
}

export function exitOf(record) {
  if (typeof record.state === 'object') return h('span.badge.bad', { title: Object.values(record.state)[0] }, 'cut short');
  if (isGrowing(record)) return h('span.badge.live', {}, 'growing');
  if (record.exit === null || record.exit === undefined) return null;
  return h(`span.badge.${record.exit === 0 ? 'good' : 'bad'}`, {}, `exit ${record.exit}`);
}

/** How large it is; of one that grows, how far it came. */
export const bytesOf = record => (isGrowing(record) ? record.length ?? record.size.bytes : record.size.bytes);

export class Outputs {
  constructor(live) {
    this.live = live;
    this.items = new Map();
    this.list = h('ul.cards.outputs', { 'aria-label': 'Outputs' });
    this.foot = h('div.foot');
    this.state = h('p.note.state', { hidden: true, role: 'status' }, 'The stream of events is interrupted; trying again.');
    this.total = h('span.note');
    this.element = h('nav.list', { 'aria-label': `Outputs of ${live.session}` },
      h('div.title', {}, h('h1', {}, live.session), this.total, h('a.button', { href: hashOf(['sessions', live.session, 'stats']) }, 'Saved')),
      this.state, this.list, this.foot);
    live.addEventListener('list', ({ detail }) => this.draw(detail?.added));
    live.addEventListener('state', () => (this.state.hidden = live.hears));
    this.clock = setInterval(() => this.list.querySelectorAll('time').forEach(time => (time.textContent = ago(time.dateTime))), 15000);
  }

  draw(added = []) {
    const { list, total, session } = this.live;
    this.total.textContent = count('output', Math.max(total, list.length));
    const elements = list.map(record => {
      const id = idOf(record);
      const known = this.items.get(id);
      const told = JSON.stringify([record.state, record.size, record.got, record.length, record.exit]);
      if (known?.told === told) return known.element;
      const element = known?.element ?? h('li');
      const link = element.querySelector('a') ?? element.appendChild(h('a.item', { href: hashOf(['sessions', session, 'outputs', id]) }));
      link.replaceChildren(...parts(record));
      this.items.set(id, { told, element });
      return element;
    });
    // Only what is not where it belongs is moved, so that the focus stays.
    elements.forEach((element, index) => {
      if (this.list.children[index] !== element) this.list.insertBefore(element, this.list.children[index] ?? null);
    });
    while (this.list.children.length > elements.length) this.list.lastChild.remove();
    for (const id of added) {
      const record = this.live.records.get(id);
      this.items.get(id)?.element.classList.add('new');
      tell(`New output: ${record.tool} ${called(record.call).slice(0, 80)}`);
    }
    this.foot.replaceChildren(list.length === 0 ? putOne(session, 'This session has no outputs.') : total > list.length ? button(`Show ${Math.min(100, total - list.length)} older`, () => this.live.load()) : '');
    this.mark(this.open);
  }

  /** Shows which is open. */
  mark(id) {
    const isNew = this.open !== id;
    this.open = id;
    if (isNew) this.items.get(id)?.element.scrollIntoView({ block: 'nearest' });
    for (const [other, { element }] of this.items) {
      if (other === id) element.firstChild.setAttribute('aria-current', 'page');
      else element.firstChild.removeAttribute('aria-current');
    }
  }

  /** The output before or behind the open one. */
  beside(by) {
    const ids = this.live.list.map(idOf);
    const at = ids.indexOf(this.open);
    return at < 0 ? undefined : ids[at + by];
  }

  focus(id) {
    (this.items.get(id)?.element.firstChild ?? this.list.querySelector('a'))?.focus();
  }

  close() {
    clearInterval(this.clock);
  }

  keys() {
    return listKeys(() => this.list);
  }
}

/** Where there is room for one. */
export const oneLine = text => text.trim().replaceAll('\n', ' ⏎ ');

/** The same where there is little room. */
const got = record => (record.got?.as ? gotOf(record) : 'not told to the model');

function parts(record) {
  const command = called(record.call);
  return [
    h('span.name', {}, inked(record.tool), exitOf(record), h('time', { datetime: record.call.at, title: moment(record.call.at) }, ago(record.call.at))),
    command && h('code.command', {}, inked(oneLine(command).slice(0, 300))),
    h('span.facts', {}, size(bytesOf(record)), isGrowing(record) ? ' so far' : [' · ', count('line', record.size.lines), ' · ', got(record)], savedOf(record) && [' · ', savedOf(record)]),
  ].filter(Boolean);
}
