// What the page asks and explains in between.

import { tokenCommand } from './api.js';
import { h, button } from './dom.js';
import { inked } from './ink.js';

const KEYS = [
  ['j k ↓ ↑', 'next and previous: output in a list, line in an output, value in JSON'],
  ['Enter', 'open what has the focus: an output, a fold, a value'],
  ['/', 'search in the whole output; Enter and Shift+Enter step through the matches'],
  ['n N', 'next and previous match; in the view, next and previous fold'],
  ['o', 'open or close all folds'],
  ['g', 'jump to a line (120), or choose lines (120:160)'],
  ['G End, Home', 'the end, the beginning'],
  ['Space b, d u', 'a page down and up, half a page'],
  ['t', 'tail: go to the end, and follow what comes'],
  ['w', 'wrap long lines'],
  ['v', 'as the model saw it, or whole'],
  ['[ ]', 'the newer and the older output'],
  ['y c', 'copy the handle; copy the command that reads it, or the chosen lines'],
  ['s', 'what was saved'],
  ['Esc', 'close, then back to the list, then to the sessions'],
  ['?', 'this help'],
];

export function help() {
  if (document.querySelector('dialog[open]')) return;
  const dialog = h('dialog.help', { 'aria-labelledby': 'help-title' },
    h('h2', { id: 'help-title' }, 'Keys'),
    h('dl', {}, KEYS.map(([keys, what]) => [h('dt', {}, keys.split(' ').map(key => [h('kbd', {}, key.replace(',', '')), ' '])), h('dd', {}, what)])),
    h('p.note', {}, 'Click a line number to choose a line, and another with Shift for all between. The chosen lines are in the address, so that it can be passed on.'),
    button('Close', () => dialog.close()));
  shown(dialog);
}

/** Asks for a token; `again` if the one there was is not known. */
export function askToken(again) {
  return new Promise(resolve => {
    const field = h('input', { type: 'password', id: 'token', autocomplete: 'off', spellcheck: 'false', required: true });
    const form = h('form', {
      onsubmit: event => {
        event.preventDefault();
        if (!field.value.trim()) return;
        resolve(field.value.trim());
        dialog.close();
      },
    },
    h('h2', { id: 'token-title' }, 'A token is needed'),
    h('p', {}, again ? 'The server does not know this token. Was it copied whole?' : 'This server asks for a token. It is kept until the tab is closed, and sent to this server only.'),
    h('label', { for: 'token' }, 'Token'), field,
    h('p.note', {}, 'The command ', h('code', {}, tokenCommand), ' of whoever runs the server prints one.'),
    h('button.primary', { type: 'submit' }, 'Go on'));
    const dialog = h('dialog.token', { 'aria-labelledby': 'token-title' }, form);
    // There is nothing behind it to go back to.
    dialog.addEventListener('cancel', event => event.preventDefault());
    shown(dialog);
    field.focus();
  });
}

/** Asks once, then shows a person the lines with secrets of an output. */
export function askReveal(source) {
  const close = button('Close', () => dialog.close());
  const show = button('Show them', async () => {
    show.disabled = true;
    try {
      const secrets = await source.revealed();
      body.replaceChildren(secrets.length
        ? h('dl', {}, secrets.map(({ line, kind, tag, text }) => [h('dt', {}, `Line ${line}: ${kind}, #${tag}`), h('dd', {}, h('pre', {}, inked(text)))]))
        : h('p', {}, 'No secrets are found in this output.'));
    } catch (error) {
      body.replaceChildren(h('p.trouble', {}, error.message));
    }
    show.remove();
    close.focus();
  });
  const body = h('div', { 'aria-live': 'polite' }, h('p', {}, 'Show the lines with secrets, unmasked? The events of the session will say so.'));
  const dialog = h('dialog.reveal', { 'aria-labelledby': 'reveal-title' }, h('h2', { id: 'reveal-title' }, 'Secrets'), body, h('div.buttons', {}, show, close));
  shown(dialog);
}

function shown(dialog) {
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
