// What differs from the earlier run of the same call, or from another output.

import { h } from './dom.js';
import { ink, printable } from './ink.js';
import { count, called, ago } from './words.js';

export class Diff {
  /** `others` are the records it may be compared with, `before` is the handle of the earlier run. */
  constructor(source, { before, others, chosen, choose, whole }) {
    this.source = source;
    this.whole = whole;
    this.wanted = chosen ?? before?.split('/').pop();
    const select = h('select', { id: 'with', onchange: () => choose(select.value) },
      !this.wanted && h('option', { value: '' }, 'choose an output'),
      others.map(other => {
        const id = other.handle.split('/').pop();
        const isBefore = other.handle === before;
        return h('option', { value: id, selected: id === this.wanted }, printable(`${isBefore ? 'the earlier run: ' : ''}${other.tool} ${called(other.call).slice(0, 60)}, ${ago(other.call.at)} (${id})`));
      }));
    this.summary = h('span.summary', { role: 'status' });
    this.body = h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'What differs' });
    this.element = h('div.diff', {}, h('div.bar', {}, h('label', { for: 'with' }, 'Compared with'), select, this.summary), this.body);
  }

  async load() {
    if (!this.wanted) {
      this.body.append(h('p.empty', {}, 'There is no earlier run of this call in its session. Choose another output to compare with.'));
      return;
    }
    this.summary.textContent = 'comparing …';
    const told = await this.source.ask('diff', { with: this.wanted });
    this.summary.replaceChildren(h('span.added', {}, `+${told.added}`), ' ', h('span.removed', {}, `−${told.removed}`), told.whole ? '' : ', the first 5,000 lines');
    if (!told.hunks.length) this.body.append(h('p.empty', {}, 'They are the same, line for line.'));
    this.body.append(...told.hunks.map(hunk => this.hunk(hunk)));
  }

  hunk(lines) {
    const first = lines.find(line => line.new !== null)?.new ?? 1;
    const last = lines.findLast(line => line.new !== null)?.new ?? first;
    return h('section.hunk', { 'aria-label': `Lines ${first} to ${last}` },
      h('div.place', {}, h('a', { href: this.whole({ lines: `${first}:${last}` }) }, `lines ${first} to ${last}`), h('span.note', {}, ` ${count('line', lines.length)}`)),
      lines.map(line => {
        const said = h('span.said');
        ink(said, line.text);
        const name = { '+': 'added', '-': 'removed', ' ': 'same' }[line.sign];
        return h(`div.change.${name}`, {}, h('span.old', { 'data-text': line.old ?? '' }), h('span.new', { 'data-text': line.new ?? '' }), h('span.sign-of', {}, line.sign), said);
      }));
  }

  close() {}

  keys() {
    const by = lines => () => {
      this.body.scrollTop += lines * 20;
    };
    return { j: by(1), ArrowDown: by(1), k: by(-1), ArrowUp: by(-1), ' ': by(25), b: by(-25), G: () => (this.body.scrollTop = this.body.scrollHeight) };
  }
}
