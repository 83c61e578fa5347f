// Numbers, sizes and times as people read them.

const numbers = new Intl.NumberFormat('en-US');

export const grouped = number => numbers.format(number);

/** `1 line`, `2 lines`. */
export function count(word, number) {
  const many = word.endsWith('ch') ? `${word}es` : word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`;
  return `${grouped(number)} ${number === 1 ? word : many}`;
}

/** `458.3 KiB`. */
export function size(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  while (bytes >= 1024 && at < units.length - 1) {
    bytes /= 1024;
    at += 1;
  }
  return `${at ? bytes.toFixed(1) : grouped(bytes)} ${units[at]}`;
}

/** `12.3k`, for axes. */
export function short(number) {
  const sizes = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']];
  const [by, unit] = sizes.find(([by]) => Math.abs(number) >= by) ?? [1, ''];
  return `${+(number / by).toFixed(1)}${unit}`;
}

/** `3 minutes ago`, or the day. */
export function ago(time) {
  const seconds = (Date.now() - new Date(time)) / 1000;
  if (seconds < 10) return 'just now';
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h ago`;
  return new Date(time).toLocaleDateString('en-CA');
}

export const minute = time => new Date(time).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

export const moment = time => new Date(time).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** What a call was: its command, or its arguments. */
export function called(call) {
  let args;
  try {
    args = JSON.parse(call.args);
  } catch {
    return call.args ?? '';
  }
  if (args === null || typeof args !== 'object') return String(args);
  const command = Array.isArray(args) ? args : (args.command ?? args.cmd);
  if (Array.isArray(command)) return command.map(part => (typeof part === 'string' ? part : JSON.stringify(part))).join(' ');
  if (typeof command === 'string') return command;
  return Object.entries(args).map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`).join(' ');
}
