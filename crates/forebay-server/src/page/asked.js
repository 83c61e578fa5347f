// What was asked and extracted of an output, and from which lines.

import { h } from './dom.js';
import { pastEvents } from './api.js';
import { inked } from './ink.js';
import { count, grouped, moment, size } from './words.js';

/** So many ranges of an answer are listed. */
const LISTED = 12;

export class Asked {
  constructor(source, { whole }) {
    this.source = source;
    this.whole = whole;
    this.element = h('div.scroll.asked', { tabindex: 0, role: 'region', 'aria-label': 'What was asked of this output' });
  }

  async load() {
    const events = [];
    await pastEvents(this.source.session, { output: this.source.id }, event => {
      if (['query-answered', 'extraction-done', 'fell-back'].includes(event.event)) events.push(event);
    });
    if (!events.length) {
      this.element.replaceChildren(h('p.empty', {}, 'Nobody has asked anything of this output yet. What the model reads, searches or has extracted is listed here, with the lines it came from.'));
      return;
    }
    this.element.replaceChildren(h('ol.events', {}, events.reverse().map(event => this.item(event))));
  }

  item(event) {
    const time = h('time', { datetime: event.at }, moment(event.at));
    if (event.event === 'fell-back') {
      return h('li', {}, h('div.head', {}, h('strong', {}, `Fell back from ${event.from} to ${event.to}`), time), h('p', {}, inked(event.why)));
    }
    if (event.event === 'query-answered') {
      const what = Object.entries(event.arguments ?? {}).filter(([name]) => name !== 'handle').map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
      return h('li', {},
        h('div.head', {}, h('strong', {}, event.query), ' ', h('code', {}, inked(what.join(' '))), time),
        h('p.note', {}, `${count('token', event.tokens)} in the answer`),
        this.ranges([...event.shown, ...(event.drawn_from ?? [])], event.length, event.length ? 'it shows no lines' : 'which lines it shows was not recorded'),
        event.arguments?.pattern && h('a', { href: this.whole({ find: event.arguments.pattern, regex: event.arguments.fixed ? undefined : 1 }) }, 'all matches in the whole output'));
    }
    const reading = event.memory?.reading;
    return h('li', {},
      h('div.head', {}, h('strong', {}, 'extract'), ' ', event.memory && h('span.instructions', {}, inked(event.memory.instructions)), time),
      h('p.note', {}, `${event.strategy}${event.model ? `, read by ${event.model}` : ''}: ${count('token', event.tokens_in)} in, ${grouped(event.tokens_out)} out, ${grouped(event.tokens)} in the answer`),
      reading?.answer && h('div.answer', {}, inked(reading.answer)),
      this.ranges(reading?.ranges ?? [], event.memory?.length ?? 0));
  }

  ranges(ranges, length, none = 'it shows no lines') {
    if (!ranges.length) return h('p.note', {}, none);
    const list = ranges.slice(0, LISTED).map(([start, end]) => {
      const all = start === 0 && end === length;
      const link = h('a', { href: this.whole({ byte: `${start}:${end}` }) }, all ? `all of it, ${size(length)}` : `bytes ${grouped(start)} to ${grouped(end)}`);
      if (!all) this.lines(start, end).then(told => (link.textContent = told)).catch(() => {});
      return h('li', {}, link);
    });
    if (ranges.length > LISTED) list.push(h('li.note', {}, `and ${count('place', ranges.length - LISTED)} more`));
    return h('ul.places', { 'aria-label': 'From' }, list);
  }

  async lines(start, end) {
    const at = async byte => (await this.source.lines({ byte, count: 1, width: 16 })).lines[0].line;
    const [first, last] = await Promise.all([at(start), at(Math.max(start, end - 1))]);
    return first === last ? `line ${grouped(first)}` : `lines ${grouped(first)} to ${grouped(last)}`;
  }

  close() {}

  keys() {
    const links = () => [...this.element.querySelectorAll('a')];
    const step = by => () => {
      const all = links();
      all[Math.max(0, Math.min(all.length - 1, all.indexOf(document.activeElement) + by))]?.focus();
    };
    return { j: step(1), ArrowDown: step(1), k: step(-1), ArrowUp: step(-1) };
  }
}
