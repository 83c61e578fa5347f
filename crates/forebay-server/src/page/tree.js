// JSON as a tree. Members are loaded when their value is opened, a hundred at once.

import { h, button } from './dom.js';
import { inked } from './ink.js';
import { size, grouped } from './words.js';

const AT_ONCE = 100;

export class Tree {
  constructor(source, { whole }) {
    this.source = source;
    this.whole = whole;
    this.root = h('ul.tree', { role: 'tree', 'aria-label': 'JSON' });
    this.element = h('div.scroll', {}, this.root);
    this.root.addEventListener('keydown', event => this.key(event));
    this.root.addEventListener('focusin', event => this.roam(event.target.closest('[role=treeitem]')));
  }

  async load() {
    await this.add(this.root, {}, true);
    const items = this.root.querySelectorAll('[role=treeitem]');
    if (items.length === 1) await this.open(items[0], true);
    if (items.length) this.roam(items[0]);
  }

  /** Adds what stands inside a value, or the documents. */
  async add(list, range, documents) {
    const nodes = await this.source.ask('tree', { ...range, max: AT_ONCE });
    const from = list.querySelectorAll(':scope > [role=treeitem]').length;
    list.append(...nodes.nodes.map((node, index) => this.item(node, documents ? null : from + index)));
    if (nodes.next !== null && nodes.next !== undefined) {
      const more = h('li.more', { role: 'none' }, button(`Next ${AT_ONCE}`, async () => {
        more.remove();
        await this.add(list, { ...range, from: nodes.next }, documents);
      }));
      list.append(more);
    }
    if (nodes.broken) list.append(h('li.broken', { role: 'none' }, `It ends here: ${nodes.broken}`));
    if (!list.children.length) list.append(h('li.note', { role: 'none' }, 'empty'));
  }

  item(node, index) {
    const opens = /^[[{]/.test(node.text);
    const key = node.key !== undefined ? h('span.key', {}, inked(node.key), ':') : index !== null ? h('span.index', {}, grouped(index), ':') : null;
    const length = node.end - node.start;
    const cut = length > 240;
    const value = h(`span.value.${kindOf(node.text)}`, {}, inked(opens ? node.text.replace(/\s+/g, ' ') : node.text), opens && cut ? ' …' : '');
    const item = h('li', { role: 'treeitem', tabindex: -1, 'aria-expanded': opens ? 'false' : null });
    const row = h('div.row', { onclick: () => opens && this.open(item) }, h('span.arrow', { 'aria-hidden': 'true' }), key, value);
    if (opens && length > 100) row.append(h('span.note', {}, size(length)));
    if (!opens && cut) {
      let shown = 240;
      const more = button(`Show ${size(length - 240)} more`, async event => {
        event.stopPropagation();
        shown = Math.min(length, shown * 64);
        value.replaceChildren(inked(new TextDecoder().decode(await this.source.bytes(node.start, node.start + shown))));
        if (shown === length) more.remove();
        else more.textContent = `Show ${size(length - shown)} more`;
      });
      row.append(more);
    }
    row.append(h('a.place', { href: this.whole({ byte: `${node.start}:${node.end}` }), tabindex: -1, title: 'Where it stands in the whole output', onclick: event => event.stopPropagation() }, 'lines'));
    item.append(row);
    item.range = { start: node.start, end: node.end };
    return item;
  }

  async open(item, open = item.ariaExpanded !== 'true') {
    if (item.ariaExpanded === null) return;
    item.ariaExpanded = String(open);
    let list = item.querySelector(':scope > ul');
    if (list) list.hidden = !open;
    else if (open) {
      list = h('ul', { role: 'group' });
      item.append(list);
      try {
        await this.add(list, item.range, false);
      } catch (error) {
        list.append(h('li.broken', { role: 'none' }, error.message));
      }
    }
  }

  /** One item at a time can be reached by the tabulator. */
  roam(item) {
    if (!item) return;
    this.root.querySelectorAll('[tabindex="0"]').forEach(other => other.setAttribute('tabindex', -1));
    item.setAttribute('tabindex', 0);
  }

  async key(event) {
    const item = event.target.closest('[role=treeitem]');
    if (!item || event.target !== item) return;
    const items = [...this.root.querySelectorAll('[role=treeitem]')].filter(one => one.offsetParent);
    const at = items.indexOf(item);
    const parent = item.parentElement.closest('[role=treeitem]');
    const isOpen = item.ariaExpanded === 'true';
    const acts = {
      ArrowDown: () => items[at + 1]?.focus(), j: () => items[at + 1]?.focus(),
      ArrowUp: () => items[at - 1]?.focus(), k: () => items[at - 1]?.focus(),
      ArrowRight: () => (isOpen ? items[at + 1]?.focus() : this.open(item, true)), l: () => this.open(item, true),
      ArrowLeft: () => (isOpen ? this.open(item, false) : parent?.focus()), h: () => (isOpen ? this.open(item, false) : parent?.focus()),
      Enter: () => this.open(item), ' ': () => this.open(item),
      Home: () => items[0].focus(), End: () => items.at(-1).focus(),
    };
    if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    await acts[event.key]();
  }

  close() {}

  keys() {
    const first = () => (this.root.querySelector('[tabindex="0"]') ?? this.root.querySelector('[role=treeitem]'))?.focus();
    return { j: first, k: first, ArrowDown: first, ArrowUp: first };
  }
}

function kindOf(text) {
  if (text.startsWith('"')) return 'string';
  if (/^[-\d]/.test(text)) return 'digits';
  if (/^[[{]/.test(text)) return 'members';
  return 'word';
}
