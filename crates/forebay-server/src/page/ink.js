// What a tool said, as text nodes: its colours are kept, its other escape codes are left out, and what would be invisible,
// or would turn the order of letters, is made visible.

import { h } from './dom.js';

/** Escape codes (colours in the first group), then controls and invisible characters. */
const SPECIAL = new RegExp(
  [
    '[\\x1b]\\[([0-9;:]*)m|\\x9b([0-9;:]*)m',
    '(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-~]',
    '\\x1b\\][^\\x07\\x1b]*(?:\\x07|\\x1b\\\\)',
    '\\x1b[PX^_][^\\x1b]*\\x1b\\\\',
    '\\x1b[ -/]*[0-OQ-WYZ`-~]',
    '[\\x00-\\x08\\x0a-\\x1f\\x7f-\\x9f]',
    '[\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb]',
    '[\\u{e0000}-\\u{e0fff}]',
  ].join('|'),
  'gu',
);
const PLAIN = /^[\t\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u2500-\u257f]*$/;

/** Joiners and variants of signs belong to what stands around them in emoji and in scripts that join letters. */
const JOINERS = /^[\u200c\u200d\ufe00-\ufe0f]$/;
const JOINED = /^(?:\p{Extended_Pictographic}|\p{Emoji_Component}|[\p{L}\p{M}])$/u;

/** How text looks where nothing was said about it. */
export const PLAIN_STYLE = Object.freeze({});

/**
 * Puts text into `into`. `marks` are stretches of it to be marked, in order: `{from, to, current}`. `style` is how the text
 * before it ended; gives how this text ends.
 */
export function ink(into, text, style = PLAIN_STYLE, marks = []) {
  if (style === PLAIN_STYLE && !marks.length && PLAIN.test(text)) {
    if (text) into.append(text);
    return style;
  }
  let at = 0;
  let row = null;
  const put = to => {
    if (at < to) written(into, text, at, to, style, marks);
  };
  for (const found of text.matchAll(SPECIAL)) {
    const [code, csi, c1] = found;
    if (JOINERS.test(code) && joins(text, found.index)) continue;
    // What ends a line of another system is not shown.
    const isEnd = code === '\r' && found.index === text.length - 1;
    put(found.index);
    at = found.index + code.length;
    const colours = csi ?? c1;
    if (colours !== undefined) style = styled(style, colours);
    else if ((code.length === 1 || code.codePointAt(0) > 0xffff) && !isEnd) {
      const mark = marked(marks, found.index);
      // Of many in a row, as in what is no text, one element is made.
      if (row?.end === found.index && !mark) row.element.append('\u2009', nameOf(code));
      else into.append(visible(code, mark));
      row = mark ? null : { element: into.lastChild, end: at };
    }
  }
  put(text.length);
  return style;
}

/** Text of any number of lines in an element of its own. */
export function inked(text) {
  const shown = h('bdi.inked');
  let style = PLAIN_STYLE;
  text.replace(/\n$/, '').split('\n').forEach((line, index) => {
    if (index) shown.append('\n');
    style = ink(shown, line, style);
  });
  return shown;
}

/** Where there can be no elements: text without what cannot be seen. */
export const printable = text => text.replace(SPECIAL, ' ');

function joins(text, at) {
  const before = [...text.slice(Math.max(0, at - 2), at)].pop() ?? '';
  const after = [...text.slice(at + 1, at + 3)][0] ?? '';
  const belongs = sign => sign > '\x7f' && (JOINED.test(sign) || JOINERS.test(sign));
  if (/[\ufe00-\ufe0f]/.test(text[at])) return belongs(before) || /[\d#*]/.test(before);
  return belongs(before) && belongs(after);
}

const CONTROLS = 'NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(' ');

function nameOf(sign) {
  const code = sign.codePointAt(0);
  return CONTROLS[code] ?? (code === 0x7f ? 'DEL' : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`);
}

/** A control character that can be seen. */
function visible(sign, mark) {
  const shown = h('span.control', {}, nameOf(sign));
  return mark ? h(mark.current ? 'mark.current' : 'mark', {}, shown) : shown;
}

const marked = (marks, at) => marks.find(mark => mark.from <= at && at < mark.to);

function written(into, text, from, to, style, marks) {
  for (const mark of marks) {
    if (mark.to <= from || mark.from >= to) continue;
    if (mark.from > from) into.append(coloured(text.slice(from, mark.from), style));
    const end = Math.min(mark.to, to);
    into.append(h(mark.current ? 'mark.current' : 'mark', {}, coloured(text.slice(Math.max(from, mark.from), end), style)));
    from = end;
  }
  if (from < to) into.append(coloured(text.slice(from, to), style));
}

function coloured(text, style) {
  if (style === PLAIN_STYLE) return text;
  const span = h('span.ink', {}, text);
  for (const name of ['bold', 'dim', 'italic', 'underline', 'struck', 'hidden']) {
    if (style[name]) span.classList.add(name);
  }
  let { fore, back } = style;
  if (style.reverse) {
    span.classList.add('reverse');
    [fore, back] = [back, fore];
  }
  for (const [name, colour] of [['fore', fore], ['back', back]]) {
    if (typeof colour === 'number') span.classList.add(`${name}-${colour}`);
    else if (colour) {
      span.classList.add(`${name}-own`);
      span.style.setProperty(`--${name}-own`, colour);
    }
  }
  if (back !== undefined) span.classList.add('on-back');
  return span;
}

/** A style after a code that sets colours and the like. */
function styled(style, codes) {
  const next = { ...style };
  const numbers = codes.split(/[;:]/).map(Number);
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at];
    if (code === 0) Object.keys(next).forEach(name => delete next[name]);
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code === 4 || code === 21) next.underline = true;
    else if (code === 7) next.reverse = true;
    else if (code === 9) next.struck = true;
    else if (code === 22) delete next.bold, delete next.dim;
    else if (code === 23) delete next.italic;
    else if (code === 24) delete next.underline;
    else if (code === 27) delete next.reverse;
    else if (code === 29) delete next.struck;
    else if (code >= 30 && code <= 37) next.fore = code - 30;
    else if (code >= 90 && code <= 97) next.fore = code - 82;
    else if (code >= 40 && code <= 47) next.back = code - 40;
    else if (code >= 100 && code <= 107) next.back = code - 92;
    else if (code === 39) delete next.fore;
    else if (code === 49) delete next.back;
    else if (code === 38 || code === 48 || code === 58) {
      const [colour, used] = long(numbers.slice(at + 1), codes.includes(':'));
      if (code !== 58 && colour !== undefined) next[code === 38 ? 'fore' : 'back'] = colour;
      at += used;
    }
  }
  return Object.keys(next).length ? next : PLAIN_STYLE;
}

/** One of 256 colours, or a true colour; and how many numbers that took. */
function long([kind, ...rest], byColons) {
  if (kind === 5) {
    const number = rest[0] & 255;
    if (number < 16) return [number, 2];
    if (number > 231) {
      const grey = 8 + (number - 232) * 10;
      return [`rgb(${grey} ${grey} ${grey})`, 2];
    }
    const [red, green, blue] = [36, 6, 1].map(by => Math.floor((number - 16) / by) % 6).map(step => (step ? 55 + step * 40 : 0));
    return [`rgb(${red} ${green} ${blue})`, 2];
  }
  if (kind === 2) {
    // Between colons, a colour space may stand first.
    const skipped = byColons && rest.length > 3 ? 1 : 0;
    const [red, green, blue] = rest.slice(skipped).map(part => (part || 0) & 255);
    return [`rgb(${red ?? 0} ${green ?? 0} ${blue ?? 0})`, 4 + skipped];
  }
  return [undefined, 0];
}
