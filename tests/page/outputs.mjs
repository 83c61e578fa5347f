// Outputs to look at.
import { deflateSync } from 'node:zlib';

/** A run of many tests, of which one may fail. */
export function run(fails) {
  const lines = Array.from({ length: 20_000 }, (_, at) => `test case_${at} ... ok`);
  if (fails) lines[13_000] = "thread 'parses_dates' panicked at src/date.rs:41:9:\nassertion `left == right` failed\n  left: 3\n right: 4\ntest case_13000 ... FAILED";
  return `   Compiling app v0.1.0\n${lines.join('\n')}\ntest result: ${fails ? 'FAILED. 19999 passed; 1 failed' : 'ok. 20000 passed'}\n`;
}

let lines;
export const million = () => (lines ??= Array.from({ length: 1_000_000 }, (_, at) => `${at + 1} the line with number ${at + 1}\n`).join(''));

let line;
/** One line of 50 MB, with characters of several bytes at its beginning. */
export const giant = () => (line ??= Buffer.concat([Buffer.from('€'.repeat(20_000)), Buffer.alloc(10_000_000, 'x'), Buffer.from('größe €needle'), Buffer.alloc(40_000_000, 'y'), Buffer.from('the end')]));

/** A body that comes when it is told to. */
export function slow() {
  let control;
  const body = new ReadableStream({ start: given => (control = given) });
  const encoder = new TextEncoder();
  return { body, say: text => control.enqueue(encoder.encode(text)), end: () => control.close() };
}

export const ansi = [
  '\x1b[31mred\x1b[0m \x1b[1mbold\x1b[22m \x1b[38;5;208morange\x1b[39m \x1b[38;2;10;20;200mtrue\x1b[0m \x1b[3;4munder\x1b[0m \x1b[48;5;22mback\x1b[0m \x1b[7mreverse\x1b[0m plain',
  '\x1b]0;window title\x07title and \x1b[2Kerased',
  'turned \u202eabc \u2066def zero\u200bwidth nul\0 bell\x07 esc\x1b',
  'family 👨‍👩‍👧 heart ❤️ می‌خواهم',
  'unended\x1b]0;title',
  '',
].join('\n');

/** A picture of so many points. */
export function png(width, height) {
  const table = Array.from({ length: 256 }, (_, at) => {
    for (let bit = 0; bit < 8; bit += 1) at = at & 1 ? 0xedb88320 ^ (at >>> 1) : at >>> 1;
    return at >>> 0;
  });
  const chunk = (name, data) => {
    const body = Buffer.concat([Buffer.from(name), data]);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE((body.reduce((crc, byte) => table[(crc ^ byte) & 255] ^ (crc >>> 8), 0xffffffff) ^ 0xffffffff) >>> 0);
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.concat(Array.from({ length: height }, (_, y) => Buffer.from([0, ...Array.from({ length: width }, (_, x) => [x * 6, y * 8, 120]).flat()])));
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]);
}
