// One line of an output on the page. A long one is shown in stretches, and what lies between them is loaded when it is
// asked for.

import { h, button } from './dom.js';
import { ink, PLAIN_STYLE } from './ink.js';
import { size } from './words.js';

/** So much of a long line comes with the next click; each further click brings twice as much. */
const STEP = 16 * 1024;
const MOST = 1024 * 1024;

/** So much is shown before and behind a place in a long line. */
const AROUND = 400;

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const isContinuation = byte => (byte & 0xc0) === 0x80;

/** The text of bytes that begin and end with whole characters, and how many bytes at either end do not belong to it. */
function whole(bytes, atStart, atEnd) {
  let from = 0;
  let to = bytes.length;
  while (!atStart && from < Math.min(3, to) && isContinuation(bytes[from])) from += 1;
  if (!atEnd) {
    let lead = to - 1;
    while (lead > Math.max(from, to - 4) && isContinuation(bytes[lead])) lead -= 1;
    const length = bytes[lead] >= 0xf0 ? 4 : bytes[lead] >= 0xe0 ? 3 : bytes[lead] >= 0xc0 ? 2 : 1;
    if (lead + length > to) to = lead;
  }
  return { text: utf8.decode(bytes.subarray(from, to)), from, to };
}

/** The number of a line, to be clicked; it is no part of the text. */
export const gutter = number =>
  h('button.number', { type: 'button', tabindex: -1, 'data-number': number, 'aria-label': `Line ${number}` }, h('span', { 'data-text': number }));

/** The lines that are chosen after a click on one: it alone, all from the one before to it, or none if it was chosen. */
export const choosing = (before, line, further) => {
  const from = before?.anchor ?? before?.first;
  if (further && from) return { anchor: from, first: Math.min(from, line), last: Math.max(from, line) };
  if (before?.first === line && before.last === line) return null;
  return { anchor: line, first: line, last: line };
};

export class Line {
  /** `told` is as the server tells lines; `marks` gives what is found in a stretch of bytes. */
  constructor(source, told, { marks = () => [], style = PLAIN_STYLE } = {}) {
    this.source = source;
    this.number = told.line;
    this.start = told.start;
    this.end = told.end;
    this.marks = marks;
    this.style = style;
    this.step = STEP;
    const shown = told.cut ? told.start + told.width : told.end;
    this.stretches = told.end > told.start ? [{ from: told.start, to: shown, text: told.text }] : [];
    this.said = h('span.said');
    this.element = h('div.line', { 'data-line': told.line }, gutter(told.line), this.said);
    this.draw();
  }

  /** A line of which only a part is wanted: its text is loaded. */
  static async part(source, told, range, options) {
    const start = Math.max(told.start, range.start);
    const end = Math.max(start, Math.min(told.end, range.end));
    const bytes = await source.bytes(start, Math.min(end, start + 1000));
    const cut = start + bytes.length < end;
    const { text, to } = whole(bytes, true, !cut);
    return new Line(source, { line: told.line, start, end, text, cut, width: to }, options);
  }

  /** What the server told; a character that its width cut in two is left to what comes next. */
  static told(source, told, options) {
    if (!told.cut) return new Line(source, told, options);
    const broken = told.text.endsWith('\ufffd');
    const text = broken ? told.text.slice(0, -1) : told.text;
    // Where every character is whole, the text says how many bytes it has; otherwise the width does.
    const bytes = text.includes('\ufffd') ? 1000 : new TextEncoder().encode(text).length;
    return new Line(source, { ...told, text: text.includes('\ufffd') ? told.text : text, width: bytes }, options);
  }

  /** Draws it, and remembers how it looks where it ends, for the line behind it. */
  draw() {
    let style = this.style;
    const parts = [];
    this.stretches.forEach((stretch, index) => {
      const before = index ? this.stretches[index - 1].to : this.start;
      if (before < stretch.from) parts.push(this.gap(index - 1, before, stretch.from));
      const text = h('span');
      style = ink(text, stretch.text, style, placed(stretch, this.marks(stretch.from, stretch.to, this.number)));
      parts.push(...text.childNodes);
    });
    const last = this.stretches.at(-1)?.to ?? this.start;
    if (last < this.end) parts.push(this.gap(this.stretches.length - 1, last, this.end));
    this.said.replaceChildren(...parts);
    this.element.classList.toggle('long', this.stretches.length > 1 || last < this.end || this.end - this.start > 1000);
    this.ends = style;
  }

  /** What is not shown between two stretches, or behind the last. */
  gap(after, from, to) {
    const more = button(`Show ${size(Math.min(this.step, to - from))} more`, () => this.show(after, from, to));
    const end = to === this.end && to - from > this.step ? button('Show its end', () => this.reveal(this.end - 1)) : null;
    return h('span.more', {}, h('span.note', {}, `… ${size(to - from)} of this line not shown `), more, end);
  }

  async show(after, from, to) {
    const end = Math.min(to, from + this.step);
    this.step = Math.min(MOST, this.step * 2);
    const bytes = await this.source.bytes(from, end);
    const { text, to: taken } = whole(bytes, true, end === this.end);
    const stretch = { from, to: end === to ? to : from + taken, text };
    if (after < 0) this.stretches.unshift(stretch);
    else this.stretches.splice(after + 1, 0, stretch);
    this.join();
    this.draw();
    this.grew?.();
  }

  /** Shows what stands around a byte. */
  async reveal(byte) {
    byte = Math.max(this.start, Math.min(byte, this.end - 1));
    if (this.stretches.some(({ from, to }) => from <= byte && byte < to)) return;
    const start = Math.max(this.start, byte - AROUND);
    const end = Math.min(this.end, byte + AROUND);
    const bytes = await this.source.bytes(start, end);
    const { text, from, to } = whole(bytes, start === this.start, end === this.end);
    const index = this.stretches.findIndex(stretch => stretch.from > byte);
    const stretch = { from: start + from, to: start + to, text };
    const at = index < 0 ? this.stretches.length : index;
    // What is shown already is not shown twice.
    const before = this.stretches[at - 1];
    if (before && before.to > stretch.from) await this.trim(stretch, before.to, stretch.to);
    const behind = this.stretches[at];
    if (behind && behind.from < stretch.to) await this.trim(stretch, stretch.from, behind.from);
    this.stretches.splice(at, 0, stretch);
    this.join();
    this.draw();
    this.grew?.();
  }

  async trim(stretch, from, to) {
    Object.assign(stretch, { from, to, text: utf8.decode(await this.source.bytes(from, to)) });
  }

  join() {
    this.stretches = this.stretches.reduce((joined, stretch) => {
      const last = joined.at(-1);
      if (last && last.to === stretch.from) Object.assign(last, { to: stretch.to, text: last.text + stretch.text });
      else joined.push(stretch);
      return joined;
    }, []);
  }
}

/** Where matches stand in the text of a stretch. Bytes are not characters: they are counted on from match to match. */
function placed({ from, text }, matches) {
  const marks = [];
  let byte = from;
  let at = 0;
  for (const { byte: wanted, text: matched, current } of matches) {
    while (byte < wanted && at < text.length) {
      const code = text.codePointAt(at);
      byte += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      at += code < 0x10000 ? 1 : 2;
    }
    if (!matched) continue;
    // Where bytes are no text, the count is off: then the nearest such text is meant.
    const found = text.startsWith(matched, at) ? at : text.lastIndexOf(matched, at) >= 0 ? text.lastIndexOf(matched, at) : text.indexOf(matched, at);
    if (found < 0) continue;
    marks.push({ from: found, to: found + matched.length, current });
  }
  return marks;
}
