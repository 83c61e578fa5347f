// Every feature of the page, by what can be seen of it.
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ask, end, folder, forebay, look, picture, put, seen, serve, still, until, well } from './harness.mjs';
import { png } from './outputs.mjs';
import * as outputs from './outputs.mjs';

let server;

before(async () => {
  server = await serve('root');
  await put(server, 'app', 'tests-1', outputs.run(false), { tool: 'run_command', args: { command: 'cargo test --all' }, exit: 0 });
  await put(server, 'app', 'tests-2', outputs.run(true), { tool: 'run_command', args: { command: 'cargo test --all' }, exit: 101 });
  await put(server, 'app', 'small', 'first\nsecond\nthird\n', { tool: 'run_command', args: { command: 'make lint' }, exit: 0 });
});

after(end);

const at = (session, id, rest = '') => `#/sessions/${session}/outputs/${id}${rest}`;
const clipboard = page => page.evaluate(() => navigator.clipboard.readText());

test('sessions are listed, and a session lists its outputs with what the model got and what that saved', async () => {
  const page = await look(server);
  await page.click('a.item:has-text("app")');
  const item = page.locator('.item', { hasText: 'exit 101' });
  await item.waitFor();
  const text = await item.innerText();
  for (const part of ['run_command', 'cargo test --all', '20,006 lines', 'a view of', 'saved']) assert.ok(text.includes(part), text);
  assert.match(await page.locator('.item', { hasText: 'make lint' }).innerText(), /19 B · 3 lines · all of it, \d+ tokens/);
  await picture(page, 'session');
  await page.goBack();
  await page.getByRole('heading', { name: 'Sessions' }).waitFor();
  await well(page);
});

test('where there is nothing, the page tells what to do', async () => {
  const empty = await serve('empty');
  const page = await look(empty);
  const line = await page.locator('.empty code').first().innerText();
  assert.equal(line, `curl -sT build.log -H "Authorization: Bearer $(forebay serve token)" '${empty.address}/v1/sessions/demo/outputs/call-1?tool=make'`);
  await page.click('.empty .copy');
  assert.equal(await clipboard(page), line);
  await page.goto(`${empty.address}/#/stats`);
  await page.getByText('nothing was saved').waitFor();
  await page.goto(`${empty.address}/#/sessions/none`);
  await page.getByText('This session has no outputs.').waitFor();
  await well(page);
});

test('outputs appear as they arrive, and are announced', async () => {
  const page = await look(server, '#/sessions/live');
  await page.getByText('This session has no outputs.').waitFor();
  await put(server, 'live', 'one', 'hello\n', { tool: 'echo', args: { text: 'hello' }, exit: 3 });
  await page.locator('.item', { hasText: 'exit 3' }).waitFor();
  await until(page, () => document.getElementById('told').textContent.includes('New output: echo'));
  await put(server, 'live', 'two', outputs.run(true), { tool: 'make', args: ['make', 'test'] });
  await page.locator('.item', { hasText: 'make test' }).waitFor();
  assert.match(await page.locator('.item').first().innerText(), /make test/);
  await well(page);
});

test('an output is shown as the model saw it, and gaps open and close where they stand', async () => {
  const { text } = await put(server, 'app', 'tests-2', outputs.run(true), { tool: 'run_command', args: { command: 'cargo test --all' }, exit: 101 });
  const page = await look(server, at('app', 'tests-2'));
  const fold = page.locator('.fold').first();
  await fold.waitFor();
  // All that the model saw is there, and in its order.
  const shown = await page.evaluate(() => [...document.querySelectorAll('.frame, .marker, .digest, .view .said')].map(part => part.innerText).join('\n'));
  assert.equal(shown.replace(/\s+/g, ' ').trim(), text.replace(/\s+/g, ' ').trim());
  assert.equal(await fold.locator('.line').count(), 0);
  await fold.locator('.unfold').click();
  await fold.locator('.line').nth(199).waitFor();
  assert.equal(await fold.locator('.line').count(), 200);
  // The view begins with the one line that is like no other; test case_N is on line N + 2.
  const first = Number(await fold.locator('.line').first().getAttribute('data-line'));
  assert.equal(await fold.locator('.line .said').first().innerText(), `test case_${first - 2} ... ok`);
  await picture(page, 'view');
  await fold.locator('.more-tail').click();
  await until(page, () => document.querySelectorAll('.fold .line').length === 400);
  const count = Number((await fold.locator('.what').innerText()).match(/^[\d,]+/)[0].replaceAll(',', ''));
  assert.equal(await fold.locator('.line').last().getAttribute('data-line'), String(first + count - 1));
  await fold.locator('.more-head').click();
  await until(page, () => document.querySelectorAll('.fold .line').length === 600);
  assert.match(await fold.locator('.between').first().innerText(), new RegExp(`${(count - 600).toLocaleString('en-US')} lines between`));
  await fold.getByRole('button', { name: 'Close' }).click();
  await fold.locator('.inside').waitFor({ state: 'hidden' });
  assert.equal(await fold.locator('.unfold').getAttribute('aria-expanded'), 'false');
  await well(page);
});

test('a fold has exactly the lines that the model did not see', async () => {
  const lines = Array.from({ length: 3000 }, (_, at) => `line ${at + 1} ${'word '.repeat(at % 7)}`.trimEnd());
  await put(server, 'app', 'exact', `${lines.join('\n')}\n`, { tool: 'cat' });
  const page = await look(server, at('app', 'exact'));
  await page.locator('.fold').first().waitFor();
  await page.keyboard.press('o');
  for (;;) {
    await until(page, () => !document.querySelector('.between [role=status]'));
    const more = page.locator('.more-head');
    if (!(await more.count())) break;
    const before = await page.locator('.line').count();
    await more.first().click();
    await until(page, before => document.querySelectorAll('.line').length > before, before);
  }
  const all = await page.evaluate(() => [...document.querySelectorAll('.line')].map(line => line.querySelector('.said').textContent));
  assert.deepEqual(all, lines);
  await well(page);
});

test('a digest stands in its fold', async () => {
  const rows = Array.from({ length: 3000 }, (_, id) => `${id},customer ${id % 97},Oslo,${(id * 37) % 9999},${id % 3 ? 'paid' : 'open'}\n`);
  await put(server, 'app', 'shape', `id,customer,city,cents,state\n${rows.join('')}`, { tool: 'query' });
  const page = await look(server, at('app', 'shape'));
  const fold = page.locator('.fold[data-kind=digest]').first();
  await fold.locator('.digest', { hasText: 'id: 0 to 2999' }).waitFor();
  await fold.locator('.unfold').click();
  await fold.locator('.line').first().waitFor();
  assert.match(await fold.locator('.said').first().innerText(), /^\d+,customer \d+,Oslo,\d+,(paid|open)$/);
  await picture(page, 'digest');
  await well(page);
});

test('an output that passed whole is shown whole', async () => {
  const page = await look(server, at('app', 'small'));
  assert.match(await page.locator('.told').innerText(), /^The model got all of it: \d+ tokens\.$/);
  await page.locator('.line[data-line="3"]').waitFor();
  assert.deepEqual(await seen(page), [[1, 'first'], [2, 'second'], [3, 'third']]);
  await well(page);
});

test('what is drawn as on a screen shows also how it came', async () => {
  await put(server, 'app', 'progress', `${Array.from({ length: 3000 }, (_, at) => `\rstep ${at}`).join('')}\n${'done\n'.repeat(3000)}`, { tool: 'wget' });
  const page = await look(server, at('app', 'progress'));
  await page.locator('.rendered').waitFor();
  assert.match(await page.locator('.rendered').innerText(), /^step 2999\n/);
  await page.locator('.fold[data-kind=rendered] .unfold').click();
  await page.locator('.fold[data-kind=rendered] .control', { hasText: 'CR' }).first().waitFor();
  await well(page);
});

test('a million lines: the last is a jump away, and keys, wheel and rail move through them', async () => {
  await put(server, 'large', 'million', outputs.million(), { tool: 'journalctl', args: { unit: 'app' } });
  const page = await look(server, at('large', 'million', '?tab=whole'));
  await page.locator('.line').first().waitFor();
  assert.equal((await seen(page))[0][0], 1);
  const is = number => until(page, number => [...document.querySelectorAll('.scroll .line')].some(line => {
    const { top } = line.getBoundingClientRect();
    return Number(line.dataset.line) === number && Math.abs(top - document.querySelector('.scroll').getBoundingClientRect().top) < 6;
  }), number);
  await page.keyboard.press('j');
  await is(2);
  await page.keyboard.press('ArrowDown');
  await is(3);
  await page.keyboard.press('k');
  await is(2);
  await page.keyboard.press('G');
  await page.locator('[data-line="1000000"]').waitFor();
  assert.deepEqual((await seen(page)).at(-1), [1000000, '1000000 the line with number 1000000']);
  await page.keyboard.press('Home');
  await is(1);
  await page.keyboard.press('g');
  await page.keyboard.type('765,432');
  await page.keyboard.press('Enter');
  await page.locator('.line.flash[data-line="765432"]').waitFor();
  await picture(page, 'million');
  const top = await page.locator('.rail').getAttribute('aria-valuenow').then(Number);
  await page.mouse.move(700, 500);
  // By wheel it goes on exactly, 50 lines a turn, through more pages than are held; and back.
  for (const turns of [...Array(30).keys()].map(turn => turn + 1).concat([...Array(30).keys()].reverse())) {
    const now = await page.locator('.rail').getAttribute('aria-valuenow').then(Number);
    await page.mouse.wheel(0, top + turns * 50 > now ? 1000 : -1000);
    await until(page, wanted => Math.abs(Number(document.querySelector('.rail').getAttribute('aria-valuenow')) - wanted) <= 1, top + turns * 50);
    await still(page);
  }
  const lines = (await seen(page)).map(([number]) => number);
  assert.deepEqual(lines, lines.map((_, index) => lines[0] + index));
  assert.ok((await page.locator('.line').count()) <= 1400);
  const rail = await page.locator('.rail').boundingBox();
  await page.mouse.move(rail.x + 7, rail.y + rail.height / 4);
  await page.mouse.down();
  await page.mouse.move(rail.x + 7, rail.y + rail.height / 2, { steps: 4 });
  await page.mouse.up();
  await until(page, () => Math.abs(Number(document.querySelector('.rail').getAttribute('aria-valuenow')) - 500000) < 2000);
  await page.mouse.move(rail.x + 7, rail.y + rail.height / 2);
  await page.mouse.down();
  await page.mouse.move(rail.x + 7, rail.y + rail.height + 50, { steps: 4 });
  await page.mouse.up();
  await page.locator('[data-line="1000000"]').waitFor();
  await well(page);
});

test('a deep link leads to its line, and back leads back', async () => {
  const page = await look(server, at('app', 'tests-2', '?tab=whole&line=13002'));
  await page.locator('.line.flash[data-line="13002"]').waitFor();
  assert.ok((await seen(page)).some(([number, text]) => number === 13002 && text.includes('panicked')));
  await page.getByRole('tab', { name: 'As the model saw it' }).click();
  await page.locator('.fold').first().waitFor();
  await page.goBack();
  await page.locator('.line[data-line="13002"]').waitFor();
  assert.match(page.url(), /line=13002$/);
  await page.goto(`${server.address}/${at('app', 'small', '?tab=whole&line=5000')}`);
  await page.locator('.line.flash[data-line="3"]').waitFor();
  await well(page);
});

test('a search tells the true total, marks its matches, and goes on in both directions', async () => {
  await put(server, 'large', 'million', outputs.million(), { tool: 'journalctl', args: { unit: 'app' } });
  const page = await look(server, at('large', 'million', '?tab=whole&line=500000'));
  await page.locator('[data-line="500000"]').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('NUMBER 5');
  await page.keyboard.press('Enter');
  // 5, 50 to 59, 500 to 599 and so on.
  const count = text => until(page, text => document.querySelector('.count').textContent === text, text);
  await until(page, () => document.querySelector('.count').textContent.endsWith(' of 111,111 matches'));
  const first = Number((await page.locator('.count').innerText()).split(' ')[0].replaceAll(',', ''));
  const line = Number(await page.locator('.line:has(mark.current)').getAttribute('data-line'));
  // Those before line 500,000 are 11,111.
  assert.equal(first, 11111 + (line - 500000) + 1);
  assert.ok((await page.locator('mark').count()) > 10);
  assert.equal(await page.locator('mark.current').innerText(), 'number 5');
  await picture(page, 'search');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.locator('.scroll').focus();
  await page.goto(`${server.address}/${at('large', 'million', '?tab=whole&find=number%2059999')}`);
  await count('1 of 11 matches');
  for (const place of ['2', '3']) {
    await page.keyboard.press('n');
    await count(`${place} of 11 matches`);
  }
  assert.equal(await page.locator('.line:has(mark.current)').getAttribute('data-line'), '599991');
  for (const place of ['2', '1', '11', '10']) {
    await page.keyboard.press('N');
    await count(`${place} of 11 matches`);
  }
  assert.equal(await page.locator('.line:has(mark.current)').getAttribute('data-line'), '599998');
  await page.locator('.search input').fill('^9+ the');
  await page.getByRole('button', { name: 'Regular expression' }).click();
  await until(page, () => document.querySelector('.count').textContent.endsWith(' of 6 matches'));
  await page.locator('.search input').fill('LINE');
  await page.getByRole('button', { name: 'Capitals matter' }).click();
  await count('no match');
  await page.locator('.search input').fill('(');
  await page.keyboard.press('Enter');
  await until(page, () => /parenthes|group|regex/i.test(document.querySelector('.count').textContent));
  await well(page, { fine: [/400 \(Bad Request\)/] });
});

test('a single line of 50 MB opens, grows in place, and is searched', async () => {
  await put(server, 'large', 'giant', outputs.giant(), { tool: 'fetch' });
  const page = await look(server, at('large', 'giant', '?tab=whole'));
  await page.getByRole('button', { name: 'Show 16.0 KiB more' }).click();
  const length = () => page.evaluate(() => [...document.querySelector('.said').childNodes].filter(node => !node.classList?.contains('more')).map(node => node.textContent).join('').length);
  await until(page, () => document.querySelector('.said').textContent.length > 5000);
  // 1,000 bytes, then 16 KiB, of characters that have three bytes.
  const text = await page.evaluate(() => document.querySelector('.said').firstChild.textContent);
  assert.ok(outputs.giant().toString('utf8', 0, 40000).startsWith(text), 'no character is broken');
  assert.ok((await length()) < 6000);
  await page.keyboard.press('/');
  await page.keyboard.type('needle');
  await page.keyboard.press('Enter');
  await page.locator('mark.current', { hasText: 'needle' }).waitFor();
  await until(page, () => document.querySelector('.count').textContent === '1 of 1 match');
  assert.ok((await page.locator('.said').innerText()).includes('größe €needle'));
  await page.getByRole('button', { name: 'Show its end' }).click();
  await until(page, () => document.querySelector('.said').textContent.endsWith('the end'));
  await picture(page, 'giant');
  await page.goto(`${server.address}/${at('large', 'giant')}`);
  const fold = page.locator('.fold').first();
  await fold.locator('.unfold').click();
  await fold.getByRole('button', { name: 'Show 16.0 KiB more' }).click();
  await until(page, () => document.querySelector('.fold .said').textContent.length > 5000);
  await well(page);
});

test('a growing output is followed until it ends', async () => {
  const slow = outputs.slow();
  const putting = put(server, 'grows', 'slow', slow.body, { tool: 'make', args: { command: 'make all' } });
  slow.say('first\nsec');
  const page = await look(server, '#/sessions/grows');
  await page.locator('.item', { hasText: 'growing' }).click();
  await page.locator('.line', { hasText: 'sec' }).waitFor();
  slow.say('ond\n');
  await until(page, () => document.querySelector('[data-line="2"] .said')?.textContent === 'second');
  slow.say(Array.from({ length: 3000 }, (_, at) => `step ${at}\n`).join(''));
  await page.locator('[data-line="3002"]').waitFor();
  await until(page, () => {
    const { scrollTop, scrollHeight, clientHeight } = document.querySelector('.scroll');
    return scrollTop + clientHeight >= scrollHeight - 4;
  });
  assert.equal(await page.getByRole('button', { name: 'Tail' }).getAttribute('aria-pressed'), 'true');
  await picture(page, 'growing');
  slow.say('last\n');
  slow.end();
  await putting;
  await page.locator('.said', { hasText: 'last' }).waitFor();
  await page.locator('.item:not(:has(.live))').waitFor();
  await until(page, () => document.querySelector('.head .facts').textContent.includes('3,003 lines'));
  await page.getByRole('tab', { name: 'As the model saw it' }).click();
  await page.locator('.fold, .told').first().waitFor();
  await well(page);
});

test('JSON is a tree whose members come when they are wanted', async () => {
  await put(server, 'app', 'json', JSON.stringify({ items: Array.from({ length: 250 }, (_, id) => ({ id, 'na"me': `<b>${id}</b>` })), text: 'x'.repeat(1000), none: null }), { tool: 'fetch' });
  const page = await look(server, at('app', 'json', '?tab=tree'));
  const items = page.getByRole('treeitem');
  await page.getByText('none:').waitFor();
  assert.equal(await items.count(), 4);
  await page.keyboard.press('j');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await until(page, () => document.querySelectorAll('[role=treeitem]').length === 104);
  await page.getByRole('button', { name: 'Next 100' }).click();
  await until(page, () => document.querySelectorAll('[role=treeitem]').length === 204);
  await page.getByRole('button', { name: 'Next 100' }).click();
  await until(page, () => document.querySelectorAll('[role=treeitem]').length === 254);
  await items.nth(2).focus();
  await page.keyboard.press('Enter');
  await page.getByText('"<b>0</b>"', { exact: true }).waitFor();
  await picture(page, 'tree');
  await items.nth(1).focus();
  await page.keyboard.press('ArrowLeft');
  assert.equal(await items.nth(1).getAttribute('aria-expanded'), 'false');
  await page.getByRole('button', { name: /^Show 7\d\d B more/ }).click();
  await until(page, () => document.body.textContent.includes(`"${'x'.repeat(1000)}"`));
  await items.nth(0).hover();
  await page.locator('.place').first().click();
  await page.locator('.line.chosen').waitFor();
  await well(page);
});

test('colours are kept, other codes are left out, and what is invisible is shown', async () => {
  await put(server, 'app', 'ansi', outputs.ansi, { tool: 'ls' });
  const page = await look(server, at('app', 'ansi'));
  await page.locator('.ink').first().waitFor();
  const lines = (await seen(page)).map(([, text]) => text);
  assert.deepEqual(lines, [
    'red bold orange true under back reverse plain',
    'title and erased',
    'turned U+202Eabc U+2066def zeroU+200Bwidth nulNUL bellBEL escESC',
    'family 👨‍👩‍👧 heart ❤️ می‌خواهم',
    'unendedESC]0;title',
  ]);
  const style = name => page.locator('.ink', { hasText: new RegExp(`^${name}$`) }).evaluate(element => {
    const { color, fontWeight, fontStyle, textDecorationLine, backgroundColor } = getComputedStyle(element);
    return { color, fontWeight, fontStyle, textDecorationLine, backgroundColor, classes: element.className };
  });
  assert.ok((await style('red')).classes.includes('fore-1'));
  assert.equal((await style('bold')).fontWeight, '700');
  assert.match((await style('orange')).color, /oklch|rgb/);
  assert.equal((await style('under')).textDecorationLine, 'underline');
  assert.equal((await style('under')).fontStyle, 'italic');
  assert.equal((await style('back')).backgroundColor, 'rgb(0, 95, 0)');
  assert.notEqual((await style('reverse')).backgroundColor, 'rgba(0, 0, 0, 0)');
  await picture(page, 'ansi');
  await well(page);
});

test('whatever an output, a tool or its arguments say, nothing of it runs', async () => {
  const html = '<!doctype html><script>window.hacked = 1</script><img src=x onerror="window.hacked = 1"><svg onload="window.hacked = 1"></svg><a href="javascript:window.hacked=1">x</a>';
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked = 1"><script>window.hacked = 1</script></svg>';
  const tool = '<img src=x onerror=window.hacked=1>\u202egpj.exe';
  for (const [id, body] of [['html', html], ['svg', svg], ['long', (html + '\n').repeat(3000)], ['json', JSON.stringify({ [html]: html })]]) {
    await put(server, 'hostile', id, body, { tool, args: { command: html } });
    for (const tab of ['view', 'whole', 'tree', 'diff', 'asked']) {
      const page = await look(server, at('hostile', id, `?tab=${tab}&find=${encodeURIComponent('<script>')}`));
      await page.getByRole('tab', { selected: true }).waitFor();
      await page.locator('.panel .scroll').first().waitFor();
      // What would turn the name around is shown.
      assert.equal(await page.locator('.head h1 .control').innerText(), 'U+202E');
      assert.equal(await page.locator('.panel img, .panel script, .panel a[href^=javascript], .list img, .head img').count(), 0);
      await well(page);
    }
  }
  // The bytes themselves do nothing either.
  const page = await look(server, at('hostile', 'html'));
  await page.getByRole('link', { name: 'Raw', exact: true }).waitFor();
  const [raw] = await Promise.all([page.waitForEvent('popup'), page.getByRole('link', { name: 'Raw', exact: true }).click()]);
  await raw.waitForLoadState();
  assert.equal(await raw.evaluate(() => typeof window.hacked), 'undefined');
  assert.ok((await raw.locator('body').innerText()).includes('<script>'));
  await raw.close();
  await well(page);
});

test('an image is shown, and one that is none says so', async () => {
  await put(server, 'app', 'image', png(40, 30), { tool: 'screenshot' });
  await put(server, 'app', 'no-image', Buffer.concat([png(40, 30).subarray(0, 30), Buffer.from([0, 1, 2])]), { tool: 'screenshot' });
  const page = await look(server, at('app', 'image'));
  await page.getByText('40 × 30, image/png').waitFor();
  const drawn = type => page.evaluate(type => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 20, height: 10 });
    return canvas.toDataURL(type).split(',')[1];
  }, type);
  const gif = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
  for (const [name, body, told] of [['jpeg', await drawn('image/jpeg'), '20 × 10'], ['webp', await drawn('image/webp'), '20 × 10'], ['gif', gif, '1 × 1']]) {
    await put(server, 'app', name, Buffer.from(body, 'base64'), { tool: 'draw' });
    await page.goto(`${server.address}/${at('app', name)}`);
    await page.getByText(`${told}, image/${name}`).waitFor();
  }
  await page.goto(`${server.address}/${at('app', 'no-image')}`);
  await page.getByText('This browser cannot show the image.').waitFor();
  await well(page);
});

test('an output is compared with the earlier run, or with any other', async () => {
  const page = await look(server, at('app', 'tests-2', '?tab=diff'));
  await page.locator('.change.added', { hasText: 'panicked' }).waitFor();
  assert.equal(await page.locator('.summary').innerText(), '+6 −2');
  assert.equal(await page.locator('.change.removed').count(), 2);
  await picture(page, 'diff');
  await page.selectOption('select', 'small');
  await page.locator('.change.removed', { hasText: 'second' }).waitFor();
  assert.match(page.url(), /with=small/);
  await page.goBack();
  await page.locator('.change.added', { hasText: 'panicked' }).waitFor();
  await page.locator('.hunk a').first().click();
  await page.locator('.line.chosen[data-line="13002"]').waitFor();
  await well(page);
});

test('lines are chosen by their numbers, and the command that reads them is copied', async () => {
  const page = await look(server, at('app', 'tests-2', '?tab=whole'));
  await page.getByRole('button', { name: 'Copy the handle' }).click();
  assert.equal(await clipboard(page), 'app/tests-2');
  await page.locator('[data-number="3"]').click();
  await page.locator('[data-number="7"]').click({ modifiers: ['Shift'] });
  assert.equal(await page.locator('.line.chosen').count(), 5);
  assert.match(page.url(), /lines=3%3A7/);
  await page.locator('.chosen-lines').getByRole('button', { name: 'Copy command' }).click();
  assert.equal(await clipboard(page), 'forebay read app/tests-2 --lines 3:7');
  await page.getByRole('button', { name: 'Copy text' }).click();
  await until(page, async () => (await navigator.clipboard.readText()).startsWith('test case_1 '));
  assert.equal((await clipboard(page)).split('\n').length, 5);
  await picture(page, 'chosen');
  await page.reload();
  await page.locator('.line.chosen[data-line="7"]').waitFor();
  assert.equal(await page.locator('.chosen-lines code').innerText(), 'forebay read app/tests-2 --lines 3:7');
  await well(page);
});

test('what was asked and extracted is told with the lines it came from', async () => {
  await ask(server, 'sessions/app/outputs/tests-2/grep?pattern=panicked');
  await ask(server, 'sessions/app/outputs/tests-2/read?lines=13000:13010');
  const page = await look(server, at('app', 'tests-2', '?tab=asked'));
  const grep = page.locator('.events > li', { hasText: 'pattern=panicked' });
  await grep.getByRole('link', { name: 'line 13,002', exact: true }).waitFor();
  const reading = { models: ['p/m'], asked: 1, usage: { tokens_in: 900, tokens_out: 20 }, ranges: [[0, 1000]], answer: 'parses_dates <i>failed</i>', notes: [] };
  const memory = { instructions: 'all failing tests', mode: 'auto', length: 449067, most: [8, 8000], reading };
  const done = { event: 'extraction-done', id: 'tests-2', strategy: 'full-chunked', model: 'p/m', tokens_in: 900, tokens_out: 20, tokens: 30, memory, at: new Date().toISOString() };
  // The page hears of it by the session's events.
  appendFileSync(join(server.root, 'app/events.jsonl'), `${JSON.stringify(done)}\n`);
  const extract = page.locator('.events > li', { hasText: 'all failing tests' });
  await extract.getByText('parses_dates <i>failed</i>').waitFor();
  await extract.getByRole('link', { name: /lines 1 to \d+/ }).waitFor();
  await picture(page, 'asked');
  const tail = { name: 'context.tail', arguments: { id: 'tests-2', lines: 2 } };
  await ask(server, 'sessions/app/calls', { method: 'POST', body: JSON.stringify(tail) });
  await page.locator('.events > li', { hasText: 'context.tail' }).getByRole('link', { name: 'lines 20,005 to 20,006' }).waitFor();
  assert.equal(await page.getByText('it shows no lines').count(), 0);
  await page.locator('.events > li', { hasText: 'lines=13000:13010' }).getByRole('link', { name: 'lines 13,000 to 13,010' }).click();
  await page.locator('.line.chosen[data-line="13010"]').waitFor();
  assert.equal(await page.locator('.line.chosen').count(), 11);
  await page.goBack();
  await grep.getByRole('link', { name: 'all matches' }).click();
  await until(page, () => document.querySelector('.count')?.textContent === '1 of 1 match');
  await well(page);
});

test('what was saved is plotted over time, by tool and by day, and the numbers are there', async () => {
  const told = await ask(server, 'sessions/app/stats');
  const page = await look(server, '#/sessions/app/stats');
  const saved = told.saved.toLocaleString('en-US');
  await page.locator('.tile', { hasText: 'Tokens saved' }).getByText(saved).waitFor();
  const fired = ['reserve_failed', 'size_cap', 'token_budget', 'compact'].map(reason => told[reason]);
  const [views, characters] = ['times', 'characters_saved'].map(name => fired.reduce((sum, one) => sum + one[name], 0));
  assert.ok(views > 0 && characters > 0);
  assert.match(await page.locator('.tile', { hasText: 'Replaced by views' }).innerText(), new RegExp(`\\b${views}\\b`));
  const tile = await page.locator('.tile', { hasText: 'Characters saved' }).innerText();
  for (const number of [characters, Math.round(characters / views)]) assert.ok(tile.includes(number.toLocaleString('en-US')), tile);
  const over = page.locator('.figure', { hasText: 'Tokens saved over time' });
  assert.ok((await over.locator('path.curve').getAttribute('d')).length > 20);
  await over.locator('summary').click();
  // The curve ends where the total is.
  assert.equal(await over.locator('tbody tr').last().locator('td').innerText(), saved);
  const retrievals = page.locator('.figure', { hasText: 'Retrievals: tokens read back' });
  await retrievals.locator('summary').click();
  assert.match(await retrievals.locator('table').innerText(), /grep/);
  await page.locator('.figure', { hasText: 'Tokens saved by tool' }).getByText('run_command').first().waitFor();
  await picture(page, 'stats');
  await page.goto(`${server.address}/#/stats`);
  const day = page.locator('.figure', { hasText: 'Tokens saved by day' });
  await day.locator('rect.column').first().waitFor();
  await day.locator('summary').click();
  assert.match(await day.locator('tbody').innerText(), /\d{4}-\d\d-\d\d/);
  await picture(page, 'all-stats');
  await well(page);
});

test('the address with the token opens the page once, and a cookie that no script reads does from then on', async () => {
  const page = await look(server, at('app', 'small'));
  await page.locator('.said', { hasText: 'second' }).waitFor();
  assert.ok(!page.url().includes('token'), page.url());
  const [cookie] = await page.context().cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, 'Strict', '/']);
  assert.ok(!server.token.includes(cookie.value) && !cookie.value.includes(server.token));
  const [raw] = await Promise.all([page.context().waitForEvent('page'), page.getByRole('link', { name: 'Raw', exact: true }).click()]);
  await raw.getByText('second').waitFor();
  await well(page);
  // Without it the page asks, and says where the token is.
  const stranger = await look({ address: server.address }, at('app', 'small'));
  await stranger.locator('dialog.token').getByText('forebay serve token').waitFor();
  await stranger.fill('#token', server.token);
  await stranger.keyboard.press('Enter');
  await stranger.locator('.said', { hasText: 'second' }).waitFor();
  await well(stranger, { fine: [/401 \(Unauthorized\)/] });
});

test('secrets are masked until a person asks for them, and that is recorded', async () => {
  const value = [...'kV9wq27LmZx4tRbQ8sYc3J'].reverse().join('');
  await put(server, 'secrets', 'env', `HOME=/root\nDEPLOY_TOKEN=${value}\n`, { tool: 'env', args: { command: 'env' }, exit: 0 });
  await put(server, 'secrets', 'plain', 'nothing to hide\n', { tool: 'echo' });
  const page = await look(server, at('secrets', 'env'));
  await page.getByText('[secret: token, 22 characters').first().waitFor();
  assert.ok(!(await page.locator('body').innerText()).includes(value));
  await page.getByRole('button', { name: 'Secrets' }).click();
  await page.getByText('The events of the session will say so').waitFor();
  assert.ok(!(await page.locator('body').innerText()).includes(value));
  await page.getByRole('button', { name: 'Show them' }).click();
  await page.locator('dialog', { hasText: value }).waitFor();
  await picture(page, 'secrets');
  const { events } = await ask(server, 'sessions/secrets/events');
  assert.equal(events.filter(event => event.event === 'secrets-revealed').length, 1);
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.goto(`${server.address}/${at('secrets', 'plain')}`);
  await page.getByRole('button', { name: 'Secrets' }).click();
  await page.getByRole('button', { name: 'Show them' }).click();
  await page.getByText('No secrets are found').waitFor();
  await well(page);
});

test('a server with tokens is asked with one, and raw bytes can be saved', async () => {
  const file = join(folder, 'tokens.toml');
  const token = (await forebay('serve', 'token', '--tokens', file)).split('\n').at(-1);
  const guarded = await serve('guarded', '--tokens', file);
  await put(guarded, 'secret', 'one', 'hidden text\n', { token, tool: 'echo' });
  const page = await look(guarded, at('secret', 'one'));
  await page.locator('dialog.token').waitFor();
  assert.equal(await page.locator('dialog').count(), 1);
  await picture(page, 'token');
  await page.fill('#token', 'wrong');
  await page.keyboard.press('Enter');
  await page.getByText('does not know this token').waitFor();
  await page.fill('#token', token);
  await page.keyboard.press('Enter');
  await page.locator('.said', { hasText: 'hidden text' }).waitFor();
  await put(guarded, 'secret', 'two', 'more\n', { token, tool: 'later' });
  await page.locator('.item', { hasText: 'later' }).waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save raw' }).click()]);
  assert.equal(readFileSync(await download.path(), 'utf8'), 'hidden text\n');
  assert.equal(download.suggestedFilename(), 'one.txt');
  await page.reload();
  await page.locator('.said', { hasText: 'hidden text' }).waitFor();
  assert.equal(await page.locator('dialog').count(), 0);
  await well(page, { fine: [/401 \(Unauthorized\)/] });
});

test('what goes wrong is told, and can be tried again', async () => {
  const own = await serve('frail');
  await put(own, 's', 'one', 'text\n', { tool: 'echo' });
  const page = await look(own, at('s', 'nothing-here'));
  await page.locator('.trouble').waitFor();
  assert.match(await page.locator('.trouble').innerText(), /nothing-here/);
  await page.route('**/lines?*', route => route.fulfill({ status: 500, contentType: 'application/problem+json', body: '{"detail": "the disk is on fire"}' }));
  await page.goto(`${own.address}/${at('s', 'one', '?tab=whole')}`);
  await page.getByText('The disk is on fire.').waitFor();
  await page.unroute('**/lines?*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.locator('.said', { hasText: 'text' }).waitFor();
  await page.route('**/v1/sessions?*', route => route.abort());
  await page.goto(`${own.address}/#/`);
  await page.getByText('The server cannot be reached').waitFor();
  await page.unroute('**/v1/sessions?*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.locator('.item', { hasText: '1 output' }).click();
  await page.locator('.item', { hasText: 'echo' }).waitFor();
  // A server that goes leaves what was seen, and says so.
  own.child.kill();
  await page.getByText('The stream of events is interrupted').waitFor();
  await page.locator('.item', { hasText: 'echo' }).waitFor();
  await well(page, { fine: [/net::ERR_/, /404 \(Not Found\)/, /500 \(Internal Server Error\)/, /ERR_FAILED/] });
});

test('all of it can be done with keys alone', async () => {
  const page = await look(server);
  const focused = () => page.evaluate(() => (document.activeElement === document.body ? '' : document.activeElement.textContent));
  await page.locator('a.item', { hasText: 'app' }).waitFor();
  for (let turn = 0; turn < 20 && !(await focused()).startsWith('app'); turn += 1) await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.locator('.item', { hasText: 'exit 101' }).waitFor();
  for (let turn = 0; turn < 40 && !(await focused()).includes('exit 101'); turn += 1) await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.locator('.fold').first().waitFor();
  await until(page, () => document.querySelector('.panel').contains(document.activeElement));
  await page.keyboard.press('n');
  await page.keyboard.press('Enter');
  await page.locator('.fold.open .line').first().waitFor();
  await page.keyboard.press('Enter');
  await page.locator('.fold.open').waitFor({ state: 'detached' });
  await page.keyboard.press('v');
  await page.locator('.whole .line').first().waitFor();
  await page.keyboard.press('G');
  await page.locator('[data-line="20006"]').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.type('100:102');
  await page.keyboard.press('Enter');
  await page.locator('.line.chosen[data-line="102"]').waitFor();
  await page.keyboard.press('c');
  assert.equal(await clipboard(page), 'forebay read app/tests-2 --lines 100:102');
  await page.keyboard.press('t');
  await page.locator('[data-line="20006"]').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Tail' }).getAttribute('aria-pressed'), 'true');
  await page.keyboard.press('v');
  await page.locator('.fold').first().waitFor();
  await page.keyboard.press('/');
  await until(page, () => document.activeElement.type === 'search');
  await page.keyboard.type('left: 3');
  await page.keyboard.press('Enter');
  await page.locator('mark.current').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  await page.locator('dialog.help').waitFor();
  await picture(page, 'help');
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press(']');
  await page.locator('.head .command', { hasText: 'cargo test' }).waitFor();
  await until(page, () => location.hash.includes('tests-1'));
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await until(page, () => location.hash === '#/sessions/app');
  await page.keyboard.press('s');
  await page.locator('.figure').first().waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Sessions' }).waitFor();
  await well(page);
});

test('on a phone nothing is cut off', async () => {
  for (const [name, hash] of [['sessions', '#/'], ['list', '#/sessions/app'], ['view', at('app', 'tests-2')], ['whole', at('app', 'tests-2', '?tab=whole&lines=13002:13004')], ['diff', at('app', 'tests-2', '?tab=diff')], ['asked', at('app', 'tests-2', '?tab=asked')], ['stats', '#/sessions/app/stats']]) {
    const page = await look(server, hash, { width: 360, height: 740, hasTouch: true, isMobile: true });
    await page.locator('.item:visible, .panel .scroll, .figure').first().waitFor();
    if (name === 'view') await page.locator('.unfold').first().tap();
    if (name === 'view') await page.locator('.fold .line').first().waitFor();
    await picture(page, `phone-${name}`);
    const wide = await page.evaluate(() => [document.documentElement.scrollWidth, ...[...document.querySelectorAll('.stage, .head, .bar, .chosen-lines')].map(part => part.getBoundingClientRect().right)]);
    assert.ok(wide.every(right => right <= 361), `${name}: ${wide}`);
    await well(page);
  }
});

test('colours follow the system, or what somebody chose', async () => {
  const page = await look(server, at('app', 'tests-2'), { colorScheme: 'dark' });
  await page.locator('.fold').first().waitFor();
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await back(), 'rgb(17, 24, 28)');
  await picture(page, 'dark');
  await page.getByRole('button', { name: 'Colours' }).click();
  assert.equal(await back(), 'rgb(255, 255, 255)');
  await page.reload();
  await page.locator('.fold').first().waitFor();
  assert.equal(await back(), 'rgb(255, 255, 255)');
  await well(page);
});

test('everybody can use it, as far as a machine can tell', async () => {
  const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  for (const colorScheme of ['light', 'dark']) {
    for (const hash of ['#/', '#/sessions/app', at('app', 'tests-2'), at('app', 'tests-2', '?tab=whole&lines=3:5&find=case'), at('app', 'json', '?tab=tree'), at('app', 'tests-2', '?tab=diff'), at('app', 'tests-2', '?tab=asked'), at('app', 'ansi'), at('app', 'image'), '#/sessions/app/stats', '#/stats']) {
      const page = await look(server, hash, { colorScheme, bypassCSP: true, reducedMotion: 'reduce' });
      await page.locator('.item:visible, .panel .scroll, .figure').first().waitFor();
      if (hash === at('app', 'tests-2')) {
        await page.locator('.unfold').first().click();
        await page.locator('.fold .line').first().waitFor();
      }
      if (hash === '#/') await page.keyboard.press('?');
      await page.locator('.panel [role=status]', { hasText: 'Loading' }).waitFor({ state: 'detached' });
      await page.evaluate(source);
      const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
      assert.deepEqual(violations.map(({ id, nodes }) => `${colorScheme} ${hash} ${id}: ${nodes.slice(0, 3).map(node => node.html.slice(0, 160) + (node.any[0]?.message ?? '')).join(' | ')}`), []);
      await page.context().close();
    }
  }
});
