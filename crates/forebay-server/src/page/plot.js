// Plots, drawn by hand. Each stands beside a table with the same numbers.

import { h, svg } from './dom.js';
import { inked } from './ink.js';
import { short, grouped } from './words.js';

const HEIGHT = 220;
const LEFT = 48;
const BELOW = 26;

/** A narrow page gets a narrow plot, so that its text stays readable. */
const room = () => (innerWidth < 700 ? 330 : 720);

/** Round steps from the least to the most. */
function ticks(least, most, wanted = 4) {
  const span = most - least || 1;
  const power = 10 ** Math.floor(Math.log10(span / wanted));
  const step = [1, 2, 5, 10].map(by => by * power).find(step => span / step <= wanted) ?? power * 10;
  const all = [];
  for (let at = Math.floor(least / step); all.length < 20 && (at - 1) * step < most; at += 1) all.push(at * step);
  return all;
}

function frame(title, values) {
  const wide = room();
  const marks = ticks(Math.min(0, ...values), Math.max(1, ...values));
  const [least, most] = [marks[0], Math.max(marks.at(-1), ...values)];
  const y = value => 10 + (1 - (value - least) / (most - least || 1)) * (HEIGHT - BELOW - 14);
  const drawing = svg('svg.plot', { viewBox: `0 0 ${wide} ${HEIGHT}`, role: 'img', 'aria-label': title },
    marks.map(mark => [
      svg('line.rule', { x1: LEFT, x2: wide - 6, y1: y(mark), y2: y(mark) }),
      svg('text', { x: LEFT - 8, y: y(mark) + 4, 'text-anchor': 'end' }, short(mark)),
    ]),
    svg('line.axis', { x1: LEFT, x2: wide - 6, y1: y(0), y2: y(0) }));
  return { drawing, y, wide };
}

/** A curve over time: points are `[milliseconds, value]`. */
export function curve(title, points) {
  const { drawing, y, wide } = frame(title, points.map(([, value]) => value));
  const [first, last] = [points[0][0], points.at(-1)[0]];
  const x = time => LEFT + ((time - first) / (last - first || 1)) * (wide - LEFT - 10);
  // A value holds until the next comes.
  const path = points.map(([time, value], at) => (at ? `H${x(time).toFixed(1)}V${y(value).toFixed(1)}` : `M${x(time).toFixed(1)} ${y(value).toFixed(1)}`)).join('') + `H${wide - 8}`;
  drawing.append(svg('path.area', { d: `${path}V${y(0)}H${x(first)}Z` }), svg('path.curve', { d: path }));
  const days = last - first > 36 * 3600e3;
  const said = time => (days ? new Date(time).toLocaleDateString('en-CA') : new Date(time).toLocaleTimeString('en-GB'));
  drawing.append(
    svg('text', { x: LEFT, y: HEIGHT - 6 }, said(first)),
    last > first ? svg('text', { x: wide - 8, y: HEIGHT - 6, 'text-anchor': 'end' }, said(last)) : '');
  return drawing;
}

/** A column for each `[name, value]`. */
export function columns(title, rows) {
  const { drawing, y, wide } = frame(title, rows.map(([, value]) => value));
  const step = (wide - LEFT - 10) / rows.length;
  const every = Math.ceil((rows.length * 60) / wide);
  rows.forEach(([name, value], at) => {
    const [top, bottom] = [y(Math.max(0, value)), y(Math.min(0, value))];
    const x = LEFT + at * step + step * 0.15;
    const width = Math.min(step * 0.7, 80);
    drawing.append(
      svg(`rect.column${value < 0 ? '.loss' : ''}`, { x, y: top, width, height: Math.max(1, bottom - top) }, svg('title', {}, `${name}: ${grouped(value)}`)),
      at % every === 0 ? svg('text', { x: x + width / 2, y: HEIGHT - 6, 'text-anchor': 'middle' }, name) : '');
  });
  return drawing;
}

/** A bar for each `[name, value]`, the largest first. */
export function bars(title, rows) {
  const most = Math.max(1, ...rows.map(([, value]) => Math.abs(value)));
  const sorted = [...rows].sort(([, one], [, other]) => other - one).slice(0, 20);
  return h('ul.bars', { 'aria-label': title }, sorted.map(([name, value]) => {
    const width = `${(Math.abs(value) / most) * 100}%`;
    return h('li', {}, h('span.name', {}, inked(name)),
      svg('svg', { 'aria-hidden': 'true', preserveAspectRatio: 'none' }, svg(`rect.column${value < 0 ? '.loss' : ''}`, { width, height: '100%', rx: 3 })),
      h('span.many', {}, grouped(value)));
  }));
}

/** The same numbers as a table. */
export function table(caption, heads, rows) {
  return h('table', {}, h('caption', {}, caption), h('thead', {}, h('tr', {}, heads.map(head => h('th', { scope: 'col' }, head)))),
    h('tbody', {}, rows.map(([name, ...cells]) => h('tr', {}, h('th', { scope: 'row' }, inked(name)), cells.map(cell => h('td', {}, typeof cell === 'number' ? grouped(cell) : cell))))));
}
