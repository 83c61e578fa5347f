// An output as the model saw it. What it did not see is behind folds, which open where they stand.

import { h, button, refill, sign } from './dom.js';
import { ink, inked, PLAIN_STYLE } from './ink.js';
import { Line, choosing, gutter } from './line.js';
import { count, size, grouped } from './words.js';

/** So many lines of a fold come at once. */
const AT_ONCE = 200;

export class View {
  constructor(source, view, { moved, whole }) {
    this.moved = moved;
    this.chosen = null;
    this.folds = [];
    let style = PLAIN_STYLE;
    const pieces = view.pieces.map(piece => {
      if (piece.kind === 'frame') return h('div.frame', {}, inked(piece.text));
      if (piece.kind === 'verbatim') {
        const shown = lined(piece, style);
        style = shown.style;
        return shown.element;
      }
      if (piece.kind === 'lost') return h('div.fold.lost', {}, h('div.marker', {}, inked(piece.text)));
      const fold = new Fold(source, piece, whole);
      this.folds.push(fold);
      return fold.element;
    });
    this.scroll = h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'Output as the model saw it' }, h('div.sheet.wrap', {}, pieces));
    this.element = h('div.view', {}, this.scroll);
    this.scroll.addEventListener('click', event => {
      const number = event.target.closest('.number')?.dataset.number;
      if (number) this.choose(Number(number), event.shiftKey);
    });
    // Lines that a fold brings may be chosen already.
    this.folds.forEach(fold => {
      fold.changed = () => this.repaint();
    });
  }

  choose(line, further) {
    this.chosen = choosing(this.chosen, line, further);
    this.repaint();
    this.moved(this.chosen ? { lines: `${this.chosen.first}:${this.chosen.last}` } : {});
  }

  repaint() {
    const { first = 1, last = 0 } = this.chosen ?? {};
    for (const line of this.scroll.querySelectorAll('.line')) {
      line.classList.toggle('chosen', first <= line.dataset.line && line.dataset.line <= last);
    }
  }

  /** Goes from fold to fold. */
  step(by) {
    const buttons = this.folds.map(fold => fold.button);
    const at = buttons.indexOf(document.activeElement);
    const next = buttons[at < 0 ? (by > 0 ? 0 : buttons.length - 1) : (at + by + buttons.length) % buttons.length];
    next?.focus();
    next?.scrollIntoView({ block: 'center' });
  }

  close() {}

  keys() {
    const by = lines => () => {
      this.scroll.scrollTop += lines * 20;
    };
    const page = pages => () => {
      this.scroll.scrollTop += pages * (this.scroll.clientHeight - 40);
    };
    return {
      j: by(1), ArrowDown: by(1), k: by(-1), ArrowUp: by(-1),
      ' ': page(1), PageDown: page(1), d: page(0.5), b: page(-1), PageUp: page(-1), u: page(-0.5),
      Home: () => (this.scroll.scrollTop = 0), End: () => (this.scroll.scrollTop = this.scroll.scrollHeight),
      G: () => (this.scroll.scrollTop = this.scroll.scrollHeight),
      n: () => this.step(1), N: () => this.step(-1),
      o: () => {
        const open = !this.folds.some(fold => fold.isOpen);
        this.folds.forEach(fold => fold.open(open));
      },
    };
  }
}

/** A piece with the numbers of its lines. */
function lined(piece, style) {
  const lines = piece.text.replace(/\n$/, '').split('\n').map((text, index) => {
    const said = h('span.said');
    style = ink(said, text, style);
    const number = piece.lines.first + index;
    return h('div.line', { 'data-line': number }, gutter(number), said);
  });
  return { element: h('div.page', {}, lines), style };
}

/** A gap, closed or open. */
class Fold {
  constructor(source, piece, whole) {
    this.source = source;
    this.piece = piece;
    this.isOpen = false;
    const { first, last } = piece.lines;
    const lines = last - first + 1;
    this.isEmpty = true;
    this.head = { element: h('div'), at: first };
    this.tail = { element: h('div'), at: last };
    this.between = h('div.between');
    const bytes = piece.end - piece.start;
    const what = piece.kind === 'rendered' ? 'As it came' : lines > 1 ? count('line', lines) : `Part of line ${grouped(first)}`;
    // A digest says more than that there is a gap.
    const [marker, ...more] = piece.kind === 'rendered' ? ['shown as on a screen'] : piece.text.replace(/\n$/, '').split('\n');
    this.label = h('span.what', {}, `${what}, ${size(bytes)}`);
    this.button = h('button.unfold', { type: 'button', 'aria-expanded': 'false', onclick: () => this.open(!this.isOpen) },
      sign('right'), h('span.marker', {}, inked(marker)), this.label);
    const close = button('Close', () => {
      this.open(false);
      this.button.focus();
    });
    const place = h('a.button', { href: whole({ byte: `${piece.start}:${piece.end}` }) }, 'Open in the whole output');
    this.inside = h('div.inside', { hidden: true }, this.head.element, this.between, this.tail.element, h('div.between', {}, close, place));
    this.element = h('div.fold', { 'data-kind': piece.kind }, this.button, more.length > 0 && h('div.digest', {}, inked(more.join('\n'))), this.inside);
    if (piece.kind === 'rendered') {
      // What is rendered was seen; it is its source that was not. Lines that were not joined keep their numbers.
      const same = piece.text.replace(/\n$/, '').split('\n').length === lines;
      this.element.prepend(h('div.rendered', {}, same ? lined(piece, PLAIN_STYLE).element : h('div.text', {}, inked(piece.text))));
    }
  }

  async open(open) {
    if (open === this.isOpen) return;
    this.isOpen = open;
    this.button.ariaExpanded = String(open);
    this.inside.hidden = !open;
    this.element.classList.toggle('open', open);
    if (open && this.isEmpty) await this.more('head');
    if (!open) this.button.scrollIntoView({ block: 'nearest' });
  }

  /** How many lines are still not shown. */
  get left() {
    return this.tail.at - this.head.at + 1;
  }

  async more(end) {
    this.draw('Loading …');
    try {
      const wanted = Math.min(AT_ONCE, this.left);
      const first = end === 'head' ? this.head.at : this.tail.at - wanted + 1;
      // A window may end before its last line, if its lines are long.
      const lines = [];
      for (let at = first; at < first + wanted; at = first + lines.length) {
        const told = await this.source.lines({ first: at, count: first + wanted - at });
        if (!told.lines.length) break;
        lines.push(...(await this.lines(told.lines)));
        if (end === 'head') break;
      }
      const page = h('div.page', {}, lines.map(line => line.element));
      if (end === 'head') {
        this.head.at += lines.length;
        this.head.element.append(page);
      } else {
        this.tail.at = first - 1;
        this.tail.element.prepend(page);
      }
      this.isEmpty = false;
      this.draw();
    } catch (error) {
      this.draw(error.message, () => this.more(end));
    }
    this.changed?.();
  }

  /** Lines as far as they belong to the gap. */
  async lines(told) {
    const { start, end } = this.piece;
    let style = PLAIN_STYLE;
    const lines = [];
    for (const one of told) {
      const whole = one.start >= start && one.end <= end;
      const line = whole ? Line.told(this.source, one, { style }) : await Line.part(this.source, one, this.piece, { style });
      style = line.ends;
      lines.push(line);
    }
    return lines;
  }

  draw(note, retry) {
    const { left } = this;
    this.between.hidden = left <= 0 && !note;
    if (this.between.hidden) return this.between.replaceChildren();
    refill(this.between,
      h('span.note', { role: note ? 'status' : null }, note ?? `${count('line', left)} ${this.tail.at < this.piece.lines.last ? 'between' : 'more'}`),
      retry && button('Try again', retry),
      !note && button(left > AT_ONCE ? `Next ${AT_ONCE}` : 'Show them', () => this.more('head'), { class: 'more-head' }),
      !note && left > AT_ONCE && button(`Last ${AT_ONCE}`, () => this.more('tail'), { class: 'more-tail' }));
  }
}
