// An output line by line, however many there are: a few pages of lines are in the document, and more come as somebody gets
// near their ends. The rail beside them stands for the whole output.

import { h, button, sign, calmly, say, tell } from './dom.js';
import { Line, choosing } from './line.js';
import { PLAIN_STYLE } from './ink.js';
import { Search } from './search.js';
import { count, grouped } from './words.js';

const PAGE = 200;
const PAGES = 6;

const ANCHORS = CSS.supports('overflow-anchor', 'auto');

/** So many steps to a match may wait for the one before. */
const WAITING = 8;

export class Whole {
  /** `moved` is told which lines are chosen, or where somebody jumped. */
  constructor(source, { moved = () => {} } = {}) {
    this.source = source;
    this.moved = moved;
    this.pages = [];
    this.total = 0;
    this.bytes = 0;
    this.growing = false;
    this.following = false;
    this.chosen = null;
    this.search = null;
    this.steps = Promise.resolve();
    this.waiting = 0;
    this.loads = 0;
    this.closed = new AbortController();
    this.sheet = h('div.sheet');
    this.scroll = h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'Output', id: 'whole' }, this.sheet);
    this.thumb = h('div.thumb');
    this.bubble = h('div.bubble', { hidden: true });
    this.rail = h('div.rail', { role: 'scrollbar', tabindex: -1, 'aria-controls': 'whole', 'aria-orientation': 'vertical', 'aria-label': 'Place in the output', 'aria-valuemin': 1, 'aria-valuemax': 1, 'aria-valuenow': 1 }, this.thumb, this.bubble);
    this.note = h('p.note', { hidden: true });
    this.element = h('div.whole', {}, this.bar(), this.note, h('div.window', {}, this.scroll, this.rail));
    this.scroll.addEventListener('scroll', () => this.scrolled(), { passive: true });
    for (const event of ['wheel', 'touchmove']) this.scroll.addEventListener(event, () => this.follow(false), { passive: true });
    this.sheet.addEventListener('click', event => {
      const number = event.target.closest('.number')?.dataset.number;
      if (number) this.choose(Number(number), event.shiftKey);
    });
    this.rail.addEventListener('pointerdown', event => this.drag(event));
    this.settled = calmly(250, () => this.cover());
    new ResizeObserver(() => this.moveThumb()).observe(this.scroll);
  }

  bar() {
    this.field = h('input', { type: 'search', placeholder: 'Search', 'aria-label': 'Search in this output', spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off' });
    this.regex = toggle('.*', 'Regular expression', () => this.find());
    this.anyCase = toggle('Aa', 'Capitals matter', () => this.find());
    this.count = h('output.count', { 'aria-live': 'polite' });
    this.field.addEventListener('keydown', event => {
      if (event.key === 'Enter') {
        event.preventDefault();
        this.step(event.shiftKey ? -1 : 1);
      }
      if (event.key === 'Escape') {
        event.stopPropagation();
        if (this.field.value) {
          this.field.value = '';
          this.find();
        }
        this.scroll.focus();
      }
    });
    this.field.addEventListener('input', () => {
      if (!this.field.value) this.find();
    });
    this.jumpField = h('input.jump', { type: 'text', inputmode: 'numeric', placeholder: 'Line', 'aria-label': 'Jump to line, or choose lines A:B', autocomplete: 'off' });
    this.jumpField.addEventListener('keydown', event => {
      if (event.key === 'Enter') this.jumpTo(this.jumpField.value);
      if (event.key === 'Escape') {
        event.stopPropagation();
        this.scroll.focus();
      }
    });
    this.tail = h('button.toggle', { type: 'button', 'aria-pressed': 'false', title: 'Go to the end, and follow what comes (t)', onclick: () => this.end(true) }, 'Tail');
    this.wraps = h('button.toggle', { type: 'button', 'aria-pressed': 'false', title: 'Wrap long lines (w)', onclick: () => this.wrap() }, 'Wrap');
    if (matchMedia('(max-width: 700px)').matches) this.wrap(true);
    const step = (name, label, by) => h('button.icon', { type: 'button', title: label, 'aria-label': label, onclick: () => this.step(by) }, sign(name));
    return h('div.bar', { role: 'toolbar', 'aria-label': 'Output' },
      h('div.search', {}, sign('find'), this.field, this.regex, this.anyCase),
      this.count, step('up', 'Previous match (N)', -1), step('down', 'Next match (n)', 1),
      h('span.apart'), this.jumpField, this.tail, this.wraps);
  }

  wrap(on = this.wraps.ariaPressed !== 'true') {
    this.wraps.ariaPressed = String(on);
    this.sheet.classList.toggle('wrap', on);
  }

  close() {
    this.closed.abort();
    clearTimeout(this.looking);
  }

  /** Shows the place that an address names: `line`, `lines`, `byte`, or the beginning. */
  async open({ line, lines, byte, find, regex } = {}) {
    if (lines && /^\d+:\d+$/.test(lines)) {
      const [first, last] = lines.split(':').map(Number);
      this.chosen = { first, last };
      await this.jump(first, false);
    } else if (byte !== undefined && byte !== null) {
      await this.jumpToBytes(...byte.split(':').map(Number));
    } else if (line) await this.jump(Math.max(1, Number(line) || 1));
    else await this.load(1, 'top');
    if (find) {
      this.field.value = find;
      this.regex.ariaPressed = String(Boolean(regex));
      await this.find();
    }
    // Of what still grows, the end is of interest.
    if (this.growing && !line && !lines && !byte && !find) await this.end(true);
    else if (this.growing) this.look();
  }

  /** Has only the page with this line, with the line at the top or in the middle. */
  async load(line, where) {
    this.loads += 1;
    const turn = this.loads;
    let page = await this.fetch(where === 'end' ? null : Math.max(1, where === 'top' ? line : line - PAGE / 2));
    // There may be fewer lines than somebody thinks.
    if (!page.lines.length && this.total) {
      page = await this.fetch(null);
      line = this.total;
    }
    // Somebody may have gone elsewhere meanwhile.
    if (turn !== this.loads) return;
    this.pages = page.lines.length ? [page] : [];
    this.sheet.replaceChildren(...this.pages.map(page => page.element));
    this.showNote();
    if (where === 'end') this.scroll.scrollTop = this.scroll.scrollHeight;
    else this.put(line, where);
    await this.fill();
    if (turn !== this.loads) return;
    if (where === 'end') this.scroll.scrollTop = this.scroll.scrollHeight;
    else this.put(line, where);
    this.moveThumb();
  }

  /** A page of lines from one on; of the last lines, if none is said. */
  async fetch(first, lines = PAGE, style = PLAIN_STYLE) {
    const told = await this.source.lines(first === null ? { last: lines } : { first, count: lines }, this.closed.signal);
    this.total = told.total_lines;
    this.bytes = told.total_bytes;
    this.growing = told.growing;
    return this.page(told.lines, style);
  }

  page(told, style) {
    const marks = (from, to) => this.search?.within(from, to) ?? [];
    const lines = [];
    for (const one of told) {
      const line = Line.told(this.source, one, { marks, style });
      style = line.ends;
      line.grew = () => this.moveThumb();
      lines.push(line);
    }
    const page = { first: told[0]?.line, last: told.at(-1)?.line, lines, element: h('div.page', {}, lines.map(line => line.element)) };
    this.paint(page);
    return page;
  }

  showNote() {
    const empty = this.total === 0;
    this.note.hidden = !empty && !this.growing;
    this.note.textContent = empty ? (this.growing ? 'No bytes yet. They are shown as they come.' : 'This output has no bytes.') : 'It still grows.';
  }

  line(number) {
    const page = this.pages.find(page => page.first <= number && number <= page.last);
    return page?.lines[number - page.first];
  }

  /** Scrolls to a line that is there. */
  put(number, where) {
    const line = this.line(Math.min(number, this.pages.at(-1)?.last ?? 0));
    if (!line) return;
    const offset = line.element.getBoundingClientRect().top - this.scroll.getBoundingClientRect().top;
    const above = where === 'middle' ? this.scroll.clientHeight / 3 : 0;
    this.scroll.scrollTop += offset - above;
  }

  scrolled() {
    this.moveThumb();
    this.fill();
    this.settled();
  }

  /** Loads what somebody will soon see, and lets go what is far away. */
  async fill() {
    if (this.filling || !this.pages.length) return this.filling;
    const act = async () => {
      for (;;) {
        const near = this.scroll.clientHeight * 1.5 + 400;
        const { scrollTop, scrollHeight, clientHeight } = this.scroll;
        const [first, last] = [this.pages[0].first, this.pages.at(-1).last];
        if (scrollHeight - scrollTop - clientHeight < near && last < this.total) {
          const style = this.pages.at(-1).lines.at(-1).ends;
          const page = await this.fetch(last + 1, PAGE, style);
          if (!page.lines.length || this.pages.at(-1)?.last !== last) return;
          this.pages.push(page);
          this.sheet.append(page.element);
          this.let(0);
        } else if (scrollTop < near && first > 1) {
          const from = Math.max(1, first - PAGE);
          const page = await this.fetch(from, first - from);
          if (page.last !== first - 1 || this.pages[0]?.first !== first) return;
          this.steadily(this.pages[0].element, () => {
            this.pages.unshift(page);
            this.sheet.prepend(page.element);
          });
          this.let(-1);
        } else return;
      }
    };
    this.filling = act().catch(error => {
      if (error.name !== 'AbortError') say(error.message);
    }).finally(() => {
      this.filling = null;
    });
    return this.filling;
  }

  /** Lets a page go that is farthest from where we are. */
  let(at) {
    if (this.pages.length <= PAGES) return;
    this.steadily(this.pages.at(at === 0 ? 1 : 0).element, () => this.pages.splice(at, 1)[0].element.remove());
  }

  /** Changes the document while what is seen stays where it is. */
  steadily(anchor, change) {
    // Most browsers do it by themselves, also in the middle of a movement, but not at the very top.
    if (ANCHORS && this.scroll.scrollTop > 0) return change();
    const before = anchor.getBoundingClientRect().top;
    change();
    this.scroll.scrollTop += anchor.getBoundingClientRect().top - before;
  }

  /** The line that is at the top. */
  get top() {
    const edge = this.scroll.getBoundingClientRect().top + 1;
    const page = this.pages.find(page => page.element.getBoundingClientRect().bottom > edge);
    if (!page) return this.pages.at(-1)?.last ?? 1;
    let [low, high] = [0, page.lines.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (page.lines[middle].element.getBoundingClientRect().bottom > edge) high = middle;
      else low = middle + 1;
    }
    return page.first + low;
  }

  get isAtEnd() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroll;
    return this.pages.at(-1)?.last === this.total && scrollTop + clientHeight >= scrollHeight - 4;
  }

  moveThumb() {
    const { clientHeight } = this.rail;
    const lines = this.pages.length ? this.pages.at(-1).last - this.pages[0].first + 1 : 1;
    const shown = Math.max(1, (lines * this.scroll.clientHeight) / Math.max(1, this.scroll.scrollHeight));
    const top = this.top;
    const share = Math.min(1, shown / Math.max(1, this.total));
    const height = Math.max(28, clientHeight * share);
    const place = this.isAtEnd ? 1 : Math.min(1, (top - 1) / Math.max(1, this.total - shown));
    this.thumb.style.height = `${height}px`;
    this.thumb.style.transform = `translateY(${place * (clientHeight - height)}px)`;
    this.rail.hidden = share >= 1;
    this.rail.setAttribute('aria-valuemax', Math.max(1, this.total));
    this.rail.setAttribute('aria-valuenow', top);
    this.rail.setAttribute('aria-valuetext', `line ${grouped(top)} of ${grouped(this.total)}`);
  }

  drag(event) {
    event.preventDefault();
    this.follow(false);
    this.rail.setPointerCapture(event.pointerId);
    const height = this.thumb.clientHeight;
    const thumb = this.thumb.getBoundingClientRect();
    const inThumb = event.clientY >= thumb.top && event.clientY <= thumb.bottom;
    const grip = inThumb ? event.clientY - thumb.top : height / 2;
    let wanted = null;
    const load = calmly(60, async () => {
      const line = wanted;
      await this.filling;
      if (this.line(line) && this.line(Math.min(this.total, line + 80))) this.put(line, 'top');
      else await this.load(line, line >= this.total ? 'end' : 'top');
    });
    const move = ({ clientY }) => {
      const rail = this.rail.getBoundingClientRect();
      const place = Math.max(0, Math.min(1, (clientY - grip - rail.top) / (rail.height - height)));
      wanted = place === 1 ? this.total : 1 + Math.round(place * (this.total - 1));
      this.thumb.style.transform = `translateY(${place * (rail.height - height)}px)`;
      this.bubble.hidden = false;
      this.bubble.textContent = `line ${grouped(wanted)}`;
      this.bubble.style.transform = `translateY(${place * (rail.height - height)}px)`;
      load();
    };
    const stop = () => {
      this.bubble.hidden = true;
      this.rail.removeEventListener('pointermove', move);
    };
    move(event);
    this.rail.addEventListener('pointermove', move);
    this.rail.addEventListener('pointerup', stop, { once: true });
    this.rail.addEventListener('pointercancel', stop, { once: true });
  }

  /** Moves by whole lines. */
  async by(lines) {
    this.follow(false);
    const top = this.top;
    const edge = this.scroll.getBoundingClientRect().top;
    // A line that is cut by the edge is shown whole first.
    const cut = edge - this.line(top)?.element.getBoundingClientRect().top > 1;
    const wanted = Math.max(1, Math.min(this.total, top + lines + (cut && lines < 0 ? 1 : 0)));
    if (this.line(wanted)) this.put(wanted, 'top');
    else await this.load(wanted, 'top');
  }

  pageBy(pages) {
    this.follow(false);
    this.scroll.scrollTop += pages * (this.scroll.clientHeight - 40);
  }

  /** Goes to a line that is not near, and shows which it is. */
  async jump(line, flash = true) {
    this.follow(false);
    await this.filling;
    if (!this.line(line)) await this.load(line, 'middle');
    else this.put(line, 'middle');
    await this.fill();
    this.repaint();
    if (flash) this.flash(line);
  }

  flash(line) {
    const element = this.line(Math.min(line, this.total))?.element;
    element?.classList.remove('flash');
    void element?.offsetWidth;
    element?.classList.add('flash');
  }

  /** What somebody typed: `120`, or `120:160` to choose lines. */
  async jumpTo(text) {
    const [, first, last] = text.replaceAll(',', '').match(/^\s*(\d+)\s*(?:[:-]\s*(\d+))?\s*$/) ?? [];
    if (!first) return say('A line is a number, and lines are two with a colon: 120:160');
    const line = Math.max(1, Math.min(Number(first), this.total));
    this.chosen = last ? { first: line, last: Math.max(line, Math.min(Number(last), this.total)) } : null;
    await this.jump(line);
    this.moved(this.chosen ? { lines: `${line}:${this.chosen.last}` } : { line });
    tell(`line ${line}`);
    this.scroll.focus();
  }

  async jumpToBytes(start, end = start + 1) {
    const at = async byte => (await this.source.lines({ byte, count: 1, width: 16 })).lines[0];
    const [first, last] = await Promise.all([at(start), at(Math.max(start, end - 1))]);
    if (!first) return this.load(1, 'top');
    this.chosen = { first: first.line, last: last.line };
    await this.jump(first.line, false);
    await this.line(first.line)?.reveal(start);
    this.moved({ lines: `${first.line}:${last.line}` });
  }

  /** The beginning or the end; with `follow`, also what comes. */
  async start() {
    this.follow(false);
    await this.filling;
    await this.load(1, 'top');
  }

  async end(follow = false) {
    if (follow && this.following) return this.follow(false);
    await this.filling;
    await this.load(null, 'end');
    if (follow) this.follow(true);
  }

  follow(on) {
    if (on === this.following) return;
    this.following = on;
    this.tail.ariaPressed = String(on);
    if (on) this.look();
  }

  /** Looks from time to time whether there is more. */
  look() {
    clearTimeout(this.looking);
    if (this.closed.signal.aborted) return;
    this.looking = setTimeout(async () => {
      try {
        await this.filling;
        await this.more();
      } catch (error) {
        if (error.name === 'AbortError') return;
      }
      if (this.growing || this.following) this.look();
    }, 400);
  }

  /** Takes in what has come. */
  async more() {
    const bytes = this.bytes;
    const wasGrowing = this.growing;
    const last = this.pages.at(-1);
    if (!last) return this.load(null, 'end');
    // The last line may have been half a line.
    const known = last.last;
    const style = last.lines.length > 1 ? last.lines.at(-2).ends : PLAIN_STYLE;
    const page = await this.fetch(known, PAGE, style);
    if (last !== this.pages.at(-1) || last.last !== known) return;
    if (this.bytes !== bytes || page.last > known) {
      const stick = this.following || this.isAtEnd;
      if (this.total - known > PAGE * PAGES && this.following) await this.load(null, 'end');
      else if (known === page.first) {
        const [first, ...rest] = page.lines;
        last.lines.at(-1).element.replaceWith(first.element);
        last.lines[last.lines.length - 1] = first;
        if (rest.length) {
          const next = { first: known + 1, last: page.last, lines: rest, element: h('div.page', {}, rest.map(line => line.element)) };
          this.pages.push(next);
          this.sheet.append(next.element);
          this.let(0);
        }
      }
      if (stick && this.following) this.scroll.scrollTop = this.scroll.scrollHeight;
      this.moveThumb();
    }
    this.showNote();
    if (this.pages.at(-1).last < this.total && this.following) await this.more();
    if (wasGrowing && !this.growing) {
      tell('The output has ended.');
      this.ended?.();
    }
  }

  /** Chooses a line, or all from the one chosen before. */
  choose(line, further) {
    this.chosen = choosing(this.chosen, line, further);
    this.repaint();
    this.moved(this.chosen ? { lines: `${this.chosen.first}:${this.chosen.last}` } : {});
  }

  repaint() {
    this.pages.forEach(page => this.paint(page));
  }

  paint(page) {
    const { first = 1, last = 0 } = this.chosen ?? {};
    for (const line of page.lines) line.element.classList.toggle('chosen', first <= line.number && line.number <= last);
  }

  /** What is asked for in the search field. */
  get wanted() {
    return { pattern: this.field.value, fixed: this.regex.ariaPressed !== 'true', ignore_case: this.anyCase.ariaPressed !== 'true' };
  }

  async find() {
    this.search = null;
    this.redraw();
    this.count.textContent = '';
    if (!this.field.value) return;
    this.count.textContent = 'searching …';
    const search = new Search(this.source, this.wanted);
    this.search = search;
    try {
      const found = await search.begin(this.line(this.top)?.start ?? 0);
      if (this.search !== search) return;
      if (!found) this.count.textContent = 'no match';
      else await this.showMatch(found);
    } catch (error) {
      if (this.search === search) this.count.textContent = error.message;
    }
  }

  /** The next match, or the one before. */
  async step(by) {
    const same = this.search && JSON.stringify(this.search.wanted) === JSON.stringify(this.wanted);
    if (!same) return this.find();
    if (this.waiting >= WAITING) return;
    this.waiting += 1;
    const { search } = this;
    this.steps = this.steps.then(async () => {
      if (search !== this.search) return;
      const found = await (by > 0 ? search.next() : search.previous());
      if (found && search === this.search) await this.showMatch(found);
    }).catch(error => {
      this.count.textContent = error.message;
    }).finally(() => {
      this.waiting -= 1;
    });
  }

  async showMatch(match) {
    this.follow(false);
    this.count.textContent = `${grouped(match.index + 1)} of ${count('match', this.search.total)}`;
    const line = this.line(match.line);
    const { top, bottom } = this.scroll.getBoundingClientRect();
    const rect = line?.element.getBoundingClientRect();
    if (!rect || rect.top < top || rect.bottom > bottom) await this.jump(match.line, false);
    await this.line(match.line)?.reveal(match.byte);
    this.redraw();
    const mark = this.sheet.querySelector('mark.current');
    if (mark) mark.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  /** Marks what is found in the lines that are there. */
  redraw() {
    for (const line of this.pages.flatMap(page => page.lines)) {
      const has = this.search?.within(line.start, line.end + 1).length > 0;
      if (has || line.marked) line.draw();
      line.marked = has;
    }
  }

  /** Finds what is seen, where that is far from what was found before. */
  async cover() {
    if (!this.search?.total || this.waiting || !this.pages.length) return;
    const [from, to] = [this.pages[0].lines[0].start, this.pages.at(-1).lines.at(-1).end];
    if (await this.search.cover(from, to).catch(() => false)) this.redraw();
  }

  focusSearch() {
    this.field.focus();
    this.field.select();
  }

  keys() {
    return {
      j: () => this.by(1), ArrowDown: () => this.by(1),
      k: () => this.by(-1), ArrowUp: () => this.by(-1),
      ' ': () => this.pageBy(1), PageDown: () => this.pageBy(1), d: () => this.pageBy(0.5),
      b: () => this.pageBy(-1), PageUp: () => this.pageBy(-1), u: () => this.pageBy(-0.5),
      Home: () => this.start(), End: () => this.end(), G: () => this.end(),
      g: () => (this.jumpField.focus(), this.jumpField.select()),
      t: () => this.end(true), w: () => this.wrap(),
      '/': () => this.focusSearch(), n: () => this.step(1), N: () => this.step(-1),
    };
  }
}

function toggle(label, title, changed) {
  return h('button.toggle', { type: 'button', 'aria-pressed': 'false', title, 'aria-label': title, onclick: event => {
    const it = event.currentTarget;
    it.ariaPressed = String(it.ariaPressed !== 'true');
    changed();
  } }, label);
}
