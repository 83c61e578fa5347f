// A server with outputs, and a browser that looks at them.
import { chromium } from 'playwright-core';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const { FOREBAY, BROWSER } = process.env;
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const PICTURES = 'pictures';

/** A folder of its own for each run; it goes at the end. */
export const folder = mkdtempSync(join(tmpdir(), 'forebay-page-'));

const running = [];

/** Starts `forebay serve`; gives its address, and its token if it has one of its own. */
export async function serve(root, ...flags) {
  const child = spawn(FOREBAY, ['serve', '--listen', '127.0.0.1:0', '--json', ...flags], {
    env: { ...process.env, FOREBAY_ROOT: join(folder, root) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.push(child);
  for await (const line of createInterface({ input: child.stdout })) {
    const { listening, url } = JSON.parse(line);
    return { address: listening, url, token: url && new URL(url).searchParams.get('token'), child, root: join(folder, root) };
  }
  throw new Error('the server did not start');
}

/** What a command prints. */
export async function forebay(...args) {
  const child = spawn(FOREBAY, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const part of child.stdout) text += part;
  return text.trim();
}

/** Puts an output. */
export async function put({ address, token: own }, session, id, body, { token = own, ...params } = {}) {
  if (params.args) params.args = JSON.stringify(params.args);
  const url = `${address}/v1/sessions/${session}/outputs/${id}?${new URLSearchParams(params)}`;
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(url, { method: 'PUT', body, headers, duplex: 'half' });
  const told = await response.json();
  assert.ok(response.ok, JSON.stringify(told));
  return told;
}

export const ask = async ({ address, token }, path, options = {}) => {
  const response = await fetch(`${address}/v1/${path}`, { headers: token ? { authorization: `Bearer ${token}` } : {}, ...options });
  assert.ok(response.ok, await response.clone().text());
  return response.json();
};

let browser;

/**
 * A page in a window of its own. What a page must never do is noted: errors, and whatever its policy forbids. `fine` takes
 * back an error that a test wants.
 */
export async function look({ address, url }, hash = '#/', { width = 1200, height = 750, ...options } = {}) {
  browser ??= await chromium.launch({ executablePath: BROWSER, args: FLAGS });
  const context = await browser.newContext({ viewport: { width, height }, permissions: ['clipboard-read', 'clipboard-write'], acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.wrong = [];
  page.on('pageerror', error => page.wrong.push(String(error)));
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) page.wrong.push(message.text());
  });
  page.on('request', request => {
    if (!request.url().startsWith(address) && !request.url().startsWith('blob:')) page.wrong.push(`asks elsewhere: ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener('securitypolicyviolation', event => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  // The address with the token leads on to the one without it.
  await page.goto(url ? `${url}${hash}` : `${address}/${hash}`);
  return page;
}

/** Nothing went wrong, and nothing of an output ran. */
export async function well(page, { fine = [] } = {}) {
  const wrong = page.wrong.filter(text => !fine.some(pattern => pattern.test(text)));
  assert.deepEqual(wrong, []);
  assert.deepEqual(await page.evaluate(() => [window.violations, typeof window.hacked]), [[], 'undefined']);
  await page.context().close();
}

export async function picture(page, name) {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}

/** Waits until something holds that a page can be asked. */
export const until = (page, test, given) => page.waitForFunction(test, given);

/** The text of the lines that can be seen. */
export const seen = page => page.evaluate(() => {
  const scroll = document.querySelector('.panel .scroll');
  const { top, bottom } = scroll.getBoundingClientRect();
  return [...scroll.querySelectorAll('.line')].filter(line => {
    const rect = line.getBoundingClientRect();
    return rect.bottom > top + 1 && rect.top < bottom - 1;
  }).map(line => [Number(line.dataset.line), line.querySelector('.said').textContent]);
});

/** Waits until nothing moves any more. */
export async function still(page) {
  await page.evaluate(async () => {
    const scroll = document.querySelector('.panel .scroll');
    const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
    for (let quiet = 0, top = -1; quiet < 4; quiet = top === scroll.scrollTop ? quiet + 1 : 0) {
      top = scroll.scrollTop;
      await frame();
    }
  });
}

export async function end() {
  await browser?.close();
  for (const child of running) {
    child.kill();
    await new Promise(resolve => (child.exitCode === null && child.signalCode === null ? child.once('exit', resolve) : resolve()));
  }
  rmSync(folder, { recursive: true, force: true });
}
