// Where a pattern stands in an output. Only one stretch of the matches is in memory, however many there are; what lies
// before or behind it is searched when somebody goes there.

const AT_ONCE = 1000;
const BACK = 64 * 1024;

const encoder = new TextEncoder();

/** How many bytes a match has; what is no text stands in it as one sign a byte. */
const lengthOf = ({ text }) => Math.max(1, encoder.encode(text.replaceAll('\ufffd', '?')).length);

export class Search {
  /** `wanted` is `{pattern, fixed, ignore_case}`. */
  constructor(source, wanted) {
    this.source = source;
    this.wanted = wanted;
    this.total = 0;
    this.current = null;
    this.stretch = { from: 0, to: 0, matches: [], before: 0 };
  }

  /** Matches from a byte on; `to` is how far they are known, `left` how many there are from there to the end. */
  async find(from) {
    const { total, matches, next } = await this.source.ask('find', { ...this.wanted, from_byte: from, max: AT_ONCE });
    return { from, to: next ?? Infinity, matches, left: total };
  }

  /** Counts all, and finds the first from a byte on. */
  async begin(from) {
    const first = await this.find(0);
    this.total = first.left;
    this.stretch = { ...first, before: 0 };
    return this.next(from);
  }

  async load(from) {
    const part = await this.find(from);
    this.stretch = { ...part, before: Math.max(0, this.total - part.left) };
  }

  /** The first match from a byte on; from the end it goes on at the beginning. */
  async next(from = this.current ? this.current.byte + lengthOf(this.current) : 0) {
    if (!this.total) return null;
    if (from < this.stretch.from || from > this.stretch.to) await this.load(from);
    for (;;) {
      const { matches, to } = this.stretch;
      const index = matches.findIndex(match => match.byte >= from);
      if (index >= 0) return this.choose(index);
      if (to === Infinity) {
        if (from === 0) return null;
        return this.next(0);
      }
      await this.load(to);
    }
  }

  /** The last match before a byte; from the beginning it goes on at the end. */
  async previous(before = this.current?.byte ?? Infinity) {
    if (!this.total) return null;
    const known = () => this.stretch.matches.findLastIndex(match => match.byte < before);
    if (before > this.stretch.from && before <= this.stretch.to && known() >= 0) return this.choose(known());
    let end = before;
    if (end === Infinity) {
      const { total_bytes: bytes } = await this.source.lines({ last: 1, width: 16 });
      end = bytes;
    }
    for (let back = BACK; end > 0; back *= 8) {
      await this.load(await this.lineAt(Math.max(0, end - back)));
      // There may be more of them than come at once.
      while (this.stretch.to < end) {
        const { from, matches, to, before: count } = this.stretch;
        const more = await this.find(to);
        this.stretch = { from, to: more.to, matches: [...matches, ...more.matches], before: count };
      }
      if (known() >= 0) return this.choose(known());
      if (this.stretch.from === 0) break;
    }
    return before === Infinity ? null : this.previous(Infinity);
  }

  /** Where the line begins that has a byte, if that is near: there a pattern means what it means from the beginning on. */
  async lineAt(byte) {
    const { lines } = await this.source.lines({ byte, count: 1, width: 16 });
    return lines.length && byte - lines[0].start < BACK ? lines[0].start : byte;
  }

  choose(index) {
    this.current = { ...this.stretch.matches[index], index: this.stretch.before + index };
    return this.current;
  }

  /** Makes known what stands from a byte on, for somebody who looks there. */
  async cover(from, to) {
    const known = this.stretch.from <= from && to <= this.stretch.to;
    if (!this.total || known) return false;
    await this.load(from);
    return true;
  }

  /** What is known in a stretch of bytes. */
  within(from, to) {
    const { matches } = this.stretch;
    let low = 0;
    let high = matches.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (matches[middle].byte < from) low = middle + 1;
      else high = middle;
    }
    const found = [];
    for (let at = low; at < matches.length && matches[at].byte < to; at += 1) {
      found.push({ ...matches[at], current: matches[at].byte === this.current?.byte });
    }
    return found;
  }
}
