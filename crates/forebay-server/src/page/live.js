// The outputs of a session as they are now: a list that follows the session's events.

import { ask, endOfEvents, follow } from './api.js';
import { calmly } from './dom.js';

const AT_ONCE = 100;

export const idOf = record => record.handle.slice(record.handle.indexOf('/') + 1);
export const isGrowing = record => record.state === 'growing';

/** Tells its listeners: `list` (what there is), `output` (with its id), `events` (some came), `state` (whether it hears). */
export class Live extends EventTarget {
  constructor(session) {
    super();
    this.session = session;
    this.records = new Map();
    this.total = 0;
    this.hears = true;
    this.closed = new AbortController();
    this.changed = new Set();
    this.refresh = calmly(100, () => this.update());
  }

  say(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  /** The newest first. */
  get list() {
    return [...this.records.values()].sort((one, other) => (one.call.at < other.call.at ? 1 : -1));
  }

  async start() {
    const from = await endOfEvents(this.session);
    await this.load(0);
    follow(this.session, from, this.closed.signal, event => this.heard(event), hears => {
      if (hears === this.hears) return;
      this.hears = hears;
      this.say('state');
    });
    this.watch();
  }

  async load(skip = this.records.size) {
    const { outputs, total } = await ask(['sessions', this.session, 'outputs'], { limit: AT_ONCE, skip });
    this.total = total;
    for (const record of outputs) this.records.set(idOf(record), record);
    this.say('list');
  }

  heard(event) {
    if (event.id) this.changed.add(event.id);
    if (event.event === 'swept') this.records.delete(event.id);
    this.refresh();
  }

  async update() {
    const ids = [...this.changed];
    this.changed.clear();
    const before = new Set(this.records.keys());
    try {
      if (ids.length > 8) await this.load(0);
      else await Promise.all(ids.map(id => this.look(id)));
    } catch {
      // What cannot be told now is told with the next event.
    }
    const added = [...this.records.keys()].filter(id => !before.has(id));
    this.total += ids.length > 8 ? 0 : added.length;
    this.say('list', { added });
    ids.forEach(id => this.say('output', { id }));
    this.say('events');
  }

  async look(id) {
    try {
      this.records.set(id, await ask(['sessions', this.session, 'outputs', id]));
    } catch (error) {
      if (error.status !== 404) throw error;
      if (this.records.delete(id)) this.total -= 1;
    }
  }

  /** Outputs that grow say nothing of it: they are looked at. */
  watch() {
    this.watching = setTimeout(async () => {
      const growing = this.list.filter(isGrowing).slice(0, 8).map(idOf);
      if (growing.length) {
        await Promise.all(growing.map(id => this.look(id))).catch(() => {});
        this.say('list');
        growing.forEach(id => this.say('output', { id }));
      }
      if (!this.closed.signal.aborted) this.watch();
    }, 1000);
  }

  close() {
    this.closed.abort();
    clearTimeout(this.watching);
  }
}
