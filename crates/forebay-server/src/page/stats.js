// What was saved: in one session, or in all.

import { h, calmly } from './dom.js';
import { ask, pastEvents } from './api.js';
import { hashOf, trouble } from './lists.js';
import { bars, columns, curve, table } from './plot.js';
import { count, grouped, moment, size } from './words.js';

/** What an event saves, less what it costs. */
function savedBy(event) {
  switch (event.event) {
    case 'output-passed':
    case 'view-given':
      return event.baseline - event.tokens;
    case 'query-answered':
      return -event.tokens;
    case 'extraction-done':
      return -(event.tokens_in + event.tokens_out + event.tokens);
    default:
      return 0;
  }
}

/** So many points a curve has at most; the others lie between them. */
const POINTS = 800;

export class Stats {
  /** Of a session, or of all if there is none. */
  constructor(live) {
    this.live = live;
    this.events = { from: 0, saved: 0, retrieved: 0, points: [], reads: [], queries: new Map() };
    this.body = h('div.stats-body');
    const title = live ? `What was saved in ${live.session}` : 'What was saved';
    const back = live ? hashOf(['sessions', live.session]) : '#/';
    this.element = h('main.stats', { id: 'main', tabindex: -1 }, h('div.title', {}, h('h1', {}, title), h('a.button', { href: back }, live ? 'Outputs' : 'Sessions')), this.body);
    this.again = calmly(1000, () => this.open());
    live?.addEventListener('events', this.again);
  }

  async open() {
    try {
      const base = this.live ? ['sessions', this.live.session, 'stats'] : ['stats'];
      const [byTool, byDay] = await Promise.all([ask(base, { by: 'tool' }), ask(base, { by: 'day' })]);
      if (this.live) await this.read();
      if (!this.isClosed) this.draw(byTool, byDay);
    } catch (error) {
      this.body.replaceChildren(trouble(error, () => this.open()));
    }
  }

  /** Goes on with the events from where it stopped. */
  async read() {
    const told = this.events;
    told.from = await pastEvents(this.live.session, { from: told.from }, event => {
      const saved = savedBy(event);
      const time = Date.parse(event.at);
      if (saved) {
        told.saved += saved;
        told.points.push([time, told.saved]);
      }
      if (event.event === 'query-answered' || event.event === 'extraction-done') {
        const name = event.query ?? 'extract';
        const [times, tokens] = told.queries.get(name) ?? [0, 0];
        told.queries.set(name, [times + 1, tokens - saved]);
        told.retrieved -= saved;
        told.reads.push([time, told.retrieved]);
      }
    });
  }

  draw(byTool, byDay) {
    if (!byTool.outputs) {
      this.body.replaceChildren(h('p.empty', {}, 'No outputs yet, so nothing was saved. As soon as a model was given one, its tokens are counted here.'));
      return;
    }
    const share = byTool.baseline ? ` (${Math.round((byTool.saved / byTool.baseline) * 100)} %)` : '';
    const tile = (label, value, note) => h('div.tile', {}, h('dt', {}, label), h('dd', {}, value, note && h('span.note', {}, note)));
    const reasons = ['reserve_failed', 'size_cap', 'token_budget', 'compact'].map(reason => [reason, byTool[reason]]);
    const views = reasons.reduce((sum, [, fired]) => sum + fired.times, 0);
    const characters = reasons.reduce((sum, [, fired]) => sum + fired.characters_saved, 0);
    const parts = [
      h('dl.tiles', {},
        tile('Tokens saved', `${grouped(byTool.saved)}`, share),
        tile('Outputs', grouped(byTool.outputs), ` ${size(byTool.bytes)}`),
        tile('Without forebay', grouped(byTool.baseline)),
        tile('Replaced by views', grouped(views), ` of ${count('output', byTool.outputs)}`),
        tile('Characters saved', grouped(characters), views ? ` ${grouped(Math.round(characters / views))} a view on average` : ''),
        tile('Given for calls', grouped(byTool.given)),
        tile('Read back', grouped(byTool.retrieved), ` in ${count('answer', byTool.queries)}`),
        tile('Extracted', grouped(byTool.extracted), ` in ${count('extraction', byTool.extractions)}`)),
    ];
    if (views) {
      parts.push(figure('Views by reason', bars('Outputs replaced by views, by reason', reasons.map(([reason, fired]) => [reason, fired.times])),
        table('Views by reason', ['Reason', 'Times', 'Characters saved', 'On average'], reasons.map(([reason, fired]) => [reason, fired.times, fired.characters_saved, fired.mean_characters_saved ?? '']))));
    }
    if (this.live) {
      const { points, reads, queries } = this.events;
      if (points.length) {
        const thin = thinned(points);
        parts.push(figure('Tokens saved over time', curve('Tokens saved over time, all costs deducted', thin),
          table('Tokens saved over time', ['Time', 'Saved until then'], thinned(points, 50).map(([time, value]) => [moment(time), value]))));
      }
      if (reads.length) {
        parts.push(figure('Retrievals: tokens read back over time', curve('Tokens read back over time', thinned(reads)),
          table('Retrievals by query', ['Query', 'Times', 'Tokens'], [...queries].map(([name, [times, tokens]]) => [name, times, tokens]))));
      }
    }
    const days = Object.entries(byDay.by_day).sort(([one], [other]) => (one < other ? -1 : 1));
    if (!this.live || days.length > 1) {
      parts.push(figure('Tokens saved by day', columns('Tokens saved by day (UTC)', days.slice(-60).map(([day, told]) => [day.slice(5), told.saved])), counts('Tokens saved by day (UTC)', 'Day', days)));
    }
    const tools = Object.entries(byTool.by_tool);
    parts.push(figure('Tokens saved by tool', bars('Tokens saved by tool', tools.map(([tool, told]) => [tool, told.saved])), counts('Tokens saved by tool', 'Tool', tools)));
    const reads = tools.filter(([, told]) => told.retrieved || told.extracted);
    if (reads.length) {
      parts.push(figure('Retrievals by tool', bars('Tokens read back by tool', reads.map(([tool, told]) => [tool, told.retrieved + told.extracted])),
        table('Retrievals by tool', ['Tool', 'Answers', 'Tokens', 'Extractions', 'Tokens'], reads.map(([tool, told]) => [tool, told.queries, told.retrieved, told.extractions, told.extracted]))));
    }
    const open = [...this.body.querySelectorAll('details')].map(details => details.open);
    this.body.replaceChildren(...parts);
    this.body.querySelectorAll('details').forEach((details, at) => (details.open = open[at] ?? false));
  }

  close() {
    this.isClosed = true;
    this.live?.removeEventListener('events', this.again);
  }

  keys() {
    return {};
  }
}

function thinned(points, most = POINTS) {
  if (points.length <= most) return points;
  const step = (points.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, at) => points[Math.round(at * step)]);
}

function counts(caption, head, rows) {
  return table(caption, [head, 'Outputs', 'Without forebay', 'Given', 'Read back', 'Extracted', 'Saved'],
    rows.map(([name, told]) => [name, told.outputs, told.baseline, told.given, told.retrieved, told.extracted, told.saved]));
}

function figure(title, drawing, numbers) {
  return h('section.figure', { 'aria-label': title }, h('h2', {}, title), drawing, h('details', {}, h('summary', {}, 'The numbers'), h('div.table', { tabindex: 0, role: 'region', 'aria-label': `${title}: the numbers` }, numbers)));
}
