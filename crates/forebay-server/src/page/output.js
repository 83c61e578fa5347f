// One output: what is known of it, and the ways to look at it.

import { h, button, copy, copyButton, refill, sign, say } from './dom.js';
import { Source, curlToken, hasToken } from './api.js';
import { inked } from './ink.js';
import { idOf, isGrowing } from './live.js';
import { bytesOf, exitOf, gotOf, hashOf, oneLine, savedOf, trouble } from './lists.js';
import { called, count, minute, moment, size } from './words.js';
import { Asked } from './asked.js';
import { Diff } from './diff.js';
import { askReveal } from './dialogs.js';
import { Tree } from './tree.js';
import { View } from './view.js';
import { Whole } from './whole.js';

/** Larger ones are not fetched into the page to be saved. */
const SAVED = 512 * 1024 * 1024;

const IMAGES = [
  ['image/png', [0x89, 0x50, 0x4e, 0x47]],
  ['image/jpeg', [0xff, 0xd8, 0xff]],
  ['image/gif', [0x47, 0x49, 0x46, 0x38]],
  ['image/webp', [0x52, 0x49, 0x46, 0x46]],
];

export class OutputPage {
  constructor(live, id) {
    this.live = live;
    // As it was asked for; a beginning of an id will do.
    this.wanted = id;
    this.id = id;
    this.source = new Source(live.session, id);
    this.head = h('header.head');
    this.tabs = h('div.tabs', { role: 'tablist', 'aria-label': 'Ways to look at it' });
    this.tools = h('div.chosen-lines', { hidden: true, role: 'status' });
    this.panel = h('div.panel', { role: 'tabpanel', id: 'panel', 'aria-labelledby': 'tab-view' });
    this.element = h('main.output', { id: 'main', tabindex: -1 }, this.head, this.tabs, this.tools, this.panel);
    this.tabs.addEventListener('keydown', event => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.stopPropagation();
      event.preventDefault();
      const all = [...this.tabs.children];
      const next = all[(all.indexOf(document.activeElement) + by + all.length) % all.length];
      next.focus();
      next.click();
    });
    this.heard = ({ detail }) => detail.id === this.id && this.news();
    live.addEventListener('output', this.heard);
  }

  link(params) {
    return hashOf(['sessions', this.live.session, 'outputs', this.id], params);
  }

  /** Shows what the address says. */
  async open(params) {
    this.params = params;
    try {
      if (!this.record) await this.load();
      if (this.isClosed) return;
      this.draw();
      await this.show(params.tab && this.ways().some(([name]) => name === params.tab) ? params.tab : this.usual, params);
    } catch (error) {
      if (error.name === 'AbortError') return;
      // What is not there is made anew.
      this.part?.close();
      this.part = this.tab = null;
      if (error.status === 404) this.panel.replaceChildren(trouble(error));
      else this.panel.replaceChildren(trouble(error, () => this.open(params)));
    }
  }

  async load() {
    this.panel.replaceChildren(h('p.note', { role: 'status' }, 'Loading …'));
    this.record = await this.source.ask('');
    this.id = idOf(this.record);
    this.source = new Source(this.live.session, this.id);
    if (this.record.kind === 'binary') {
      const first = await this.source.bytes(0, 16);
      this.image = IMAGES.find(([, magic]) => magic.every((byte, at) => first[at] === byte))?.[0];
      if (this.image === 'image/webp' && String.fromCharCode(...first.slice(8, 12)) !== 'WEBP') this.image = undefined;
    }
  }

  /** The ways there are. */
  ways() {
    const { kind, got, before } = this.record;
    const asked = (got?.queries ?? 0) + (got?.extractions ?? 0);
    return [
      ['view', 'As the model saw it'],
      ['whole', 'Whole'],
      this.image && ['image', 'Image'],
      ['json', 'json-lines'].includes(kind) && ['tree', 'JSON'],
      ['diff', before ? 'Diff to earlier' : 'Diff'],
      ['asked', asked ? `Asked (${asked})` : 'Asked'],
    ].filter(Boolean);
  }

  get usual() {
    return this.image ? 'image' : isGrowing(this.record) ? 'whole' : 'view';
  }

  draw() {
    const { record } = this;
    const command = called(record.call);
    const facts = [
      exitOf(record), size(bytesOf(record)), !isGrowing(record) && count('line', record.size.lines),
      record.kind !== 'text' && record.kind, `the model got ${gotOf(record)}`, savedOf(record),
      record.got?.retrieved ? `${count('token', record.got.retrieved)} read back` : null,
      h('time', { datetime: record.call.at, title: moment(record.call.at) }, minute(record.call.at)),
    ].filter(Boolean);
    const raw = hasToken()
      ? button('Save raw', () => this.save())
      : h('a.button', { href: this.source.address, target: '_blank', rel: 'noopener' }, 'Raw', sign('link'));
    refill(this.head,
      h('div.who', {}, h('a.back', { href: hashOf(['sessions', this.live.session]), 'aria-label': 'Back to the outputs' }, sign('back')),
        h('h1', {}, inked(record.tool)), command && h('code.command', {}, inked(oneLine(command).slice(0, 1000)))),
      h('div.facts', {}, facts.map(fact => h('span', {}, fact))),
      h('div.handles', {}, h('span.handle', {}, h('code', {}, record.handle), copyButton(record.handle, 'the handle')),
        h('button', { type: 'button', onclick: () => copy(`forebay read ${record.handle}`, 'the command') }, 'Copy command'), raw, button('Secrets', () => askReveal(this.source))),
      record.lost && h('p.trouble', {}, `${count('byte', record.lost.bytes)} of it could not be kept: ${record.lost.why}`),
      typeof record.state === 'object' && h('p.note', {}, `It was cut short: ${Object.values(record.state)[0]}`));
    const focused = this.tabs.contains(document.activeElement) && document.activeElement.id;
    this.tabs.replaceChildren(...this.ways().map(([name, label]) => h('button.tab', {
      type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': 'panel', 'aria-selected': String(name === this.tab), tabindex: name === this.tab ? 0 : -1,
      onclick: () => (location.hash = this.link({ tab: name })),
    }, label)));
    if (focused) document.getElementById(focused)?.focus();
  }

  async show(tab, params) {
    const { line, lines, byte, find } = params;
    if (this.part instanceof Whole && this.tab === tab && (line || lines || byte || find)) return this.place(params);
    if (this.tab === tab && this.part && tab !== 'diff') return;
    this.part?.close();
    if (this.url) URL.revokeObjectURL(this.url);
    this.tab = tab;
    this.part = null;
    this.choose(null);
    for (const button of this.tabs.children) {
      const isIt = button.id === `tab-${tab}`;
      button.setAttribute('aria-selected', isIt);
      button.tabIndex = isIt ? 0 : -1;
      if (isIt) button.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
    this.panel.setAttribute('aria-labelledby', `tab-${tab}`);
    this.panel.replaceChildren(h('p.note', { role: 'status' }, 'Loading …'));
    const shown = await this.made(tab, params);
    if (this.tab !== tab || this.isClosed) return;
    this.panel.replaceChildren(...shown);
    if (this.part instanceof Whole) await this.place(params);
    if (params.tail && !this.part?.following) await this.part?.end?.(true);
    if (params.jump) this.part?.jumpField?.focus();
    else if (params.search) this.part?.focusSearch?.();
  }

  /** Goes where the address says in the whole output. */
  async place(params) {
    this.choose(params.lines);
    await this.part.open(params);
  }

  focus() {
    this.panel.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
  }

  async made(tab, params) {
    const moved = place => this.moved(place);
    const whole = place => this.link({ tab: 'whole', ...place });
    if (tab === 'view') {
      const view = await this.source.ask('view');
      if (view.pieces.length) {
        this.part = new View(this.source, view, { moved, whole });
        return [this.part.element];
      }
      this.part = new Whole(this.source, { moved });
      this.part.ended = () => this.news();
      const { got } = this.record;
      const told = got?.as === 'whole' ? `The model got all of it: ${count('token', got.tokens)}.` : isGrowing(this.record) ? 'It still grows, and nothing was told to the model yet. This is what there is:' : 'Nothing was told to the model of this output. This is all of it:';
      return [h('p.note.told', {}, told), this.part.element];
    }
    if (tab === 'whole') {
      this.part = new Whole(this.source, { moved });
      this.part.ended = () => this.news();
      return [this.part.element];
    }
    if (tab === 'tree') {
      const part = new Tree(this.source, { whole });
      await part.load();
      this.part = part;
      return [part.element];
    }
    if (tab === 'diff') {
      const others = this.live.list.filter(record => idOf(record) !== this.id && !isGrowing(record));
      const choose = id => (location.hash = this.link({ tab: 'diff', with: id }));
      this.part = new Diff(this.source, { before: this.record.before, others, chosen: params.with, choose, whole });
      const { part } = this;
      part.load().catch(error => {
        part.summary.textContent = '';
        part.body.replaceChildren(trouble(error, () => this.open(this.params)));
      });
      return [part.element];
    }
    if (tab === 'image') {
      this.part = { close() {}, keys: () => ({}) };
      this.url = URL.createObjectURL(await this.source.blob(this.image));
      const image = h('img', { src: this.url, alt: `Image that ${this.record.tool} gave` });
      const note = h('p.note');
      image.addEventListener('load', () => (note.textContent = `${image.naturalWidth} × ${image.naturalHeight}, ${this.image}`));
      image.addEventListener('error', () => note.replaceChildren('This browser cannot show the image.'));
      return [h('div.scroll.image', { tabindex: 0, role: 'region', 'aria-label': 'Image' }, image, note)];
    }
    const part = new Asked(this.source, { whole });
    await part.load();
    this.part = part;
    return [part.element];
  }

  /** Something happened to it. */
  async news() {
    const wasGrowing = isGrowing(this.record ?? {});
    try {
      this.record = await this.source.ask('');
    } catch {
      return;
    }
    if (this.isClosed) return;
    this.draw();
    if (this.tab === 'asked') await this.part?.load();
    // What the model saw is known only now.
    if (wasGrowing && !isGrowing(this.record) && this.tab === 'view') {
      this.tab = null;
      await this.show('view', {});
      this.draw();
    }
  }

  /** Somebody chose lines or jumped: the address says so, and nothing is loaded anew. */
  moved(place) {
    const { tab } = this;
    history.replaceState(null, '', this.link({ tab: tab === this.usual && !place.line && !place.lines ? undefined : tab, ...place }));
    this.choose(place.lines);
  }

  /** Offers what can be done with lines. */
  choose(lines) {
    this.tools.hidden = !lines;
    if (!lines) return this.tools.replaceChildren();
    const [first, last] = lines.split(':').map(Number);
    const command = `forebay read ${this.record.handle} --lines ${lines}`;
    this.tools.replaceChildren(
      h('span', {}, first === last ? `Line ${first}` : `Lines ${first} to ${last}`),
      h('code', {}, command),
      button('Copy command', () => copy(command, 'the command')),
      button('Copy link', () => copy(location.href, 'the link')),
      button('Copy text', () => this.copyLines(first, last)));
  }

  async copyLines(first, last) {
    const told = await this.source.lines({ first, count: Math.min(5000, last - first + 1), width: 65536 });
    await copy(told.lines.map(line => line.text).join('\n'), count('line', told.lines.length));
    if (told.lines.some(line => line.cut)) say('Copied the beginnings of long lines; the command reads all of them');
    if (told.lines.length < last - first + 1) say(`Copied the first ${count('line', told.lines.length)}; the command reads all`);
  }

  /** Saves the bytes where a link alone would not do. */
  async save() {
    if (this.record.size.bytes > SAVED) {
      const line = `curl -o ${this.id}${curlToken} '${location.origin}${this.source.address}'`;
      return copy(line, 'a curl line, since this output is too large to be saved from a page');
    }
    const url = URL.createObjectURL(await this.source.blob('application/octet-stream'));
    const ending = { json: 'json', 'json-lines': 'jsonl', text: 'txt' }[this.record.kind] ?? (this.image?.split('/')[1] ?? 'bin');
    h('a', { href: url, download: `${this.id}.${ending}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  }

  close() {
    this.isClosed = true;
    this.part?.close();
    if (this.url) URL.revokeObjectURL(this.url);
    this.live.removeEventListener('output', this.heard);
  }

  keys() {
    const toWhole = params => () => (location.hash = this.link({ tab: 'whole', ...params }));
    const isWhole = this.part instanceof Whole;
    return {
      v: () => (location.hash = this.link({ tab: this.tab === 'view' ? 'whole' : 'view' })),
      c: () => copy(this.tools.querySelector('code')?.textContent ?? `forebay read ${this.record.handle}`, 'the command'),
      y: () => copy(this.record.handle, 'the handle'),
      ...(isWhole ? {} : { '/': toWhole({ search: 1 }), t: toWhole({ tail: 1 }), g: toWhole({ jump: 1 }) }),
      ...this.part?.keys(),
    };
  }
}
