// The server, asked. Whoever is refused for want of a token asks the person for one and asks again.

const KEY = 'forebay-token';

let token = null;
try {
  token = sessionStorage.getItem(KEY);
} catch {
  // A browser that keeps nothing still remembers while the page is open.
}

/** What the server asks of programs: `none`, `local-token` or `tokens`. A browser may have a cookie. */
const auth = await fetch('/health', { cache: 'no-store' }).then(response => response.json()).then(told => told.auth).catch(() => 'tokens');

/** The part of a curl line that has the token. */
export const curlToken = { none: '', 'local-token': ' -H "Authorization: Bearer $(forebay serve token)"' }[auth] ?? " -H 'Authorization: Bearer TOKEN'";

/** Where a person finds the token. */
export const tokenCommand = auth === 'local-token' ? 'forebay serve token' : 'forebay serve token --tokens FILE';

/** Why the server did not answer as wanted. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export const hasToken = () => token !== null;

/** Begins anew, without a token. */
export function forgetToken() {
  try {
    sessionStorage.removeItem(KEY);
  } finally {
    location.reload();
  }
}

let asking = null;
let askPerson = null;

/** How a person is asked for a token: a function that promises one. */
export function askWith(ask) {
  askPerson = ask;
}

/** All who are refused wait for one answer. */
function newToken(refused) {
  if (refused !== token) return Promise.resolve();
  asking ??= askPerson(token !== null).then(given => {
    token = given;
    asking = null;
    try {
      sessionStorage.setItem(KEY, given);
    } catch {
      // See above.
    }
  });
  return asking;
}

/** A response that is as wanted; anything else is a problem. */
export async function fetched(path, { headers = {}, signal, method = 'GET' } = {}) {
  for (;;) {
    const used = token;
    let response;
    try {
      response = await fetch(path, { headers: used === null ? headers : { ...headers, authorization: `Bearer ${used}` }, signal, method, cache: 'no-store' });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new Problem(0, 'The server cannot be reached. Is forebay serve still running?');
    }
    if (response.status === 401) {
      await newToken(used);
      continue;
    }
    if (!response.ok) {
      const problem = await response.json().catch(() => null);
      throw new Problem(response.status, problem?.detail ?? `The server answered ${response.status}.`);
    }
    return response;
  }
}

/** An address, with what stands behind the question mark. */
export function address(parts, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== false));
  return `/v1/${parts.map(encodeURIComponent).join('/')}${query.size ? `?${query}` : ''}`;
}

export const ask = async (parts, params, signal) => (await fetched(address(parts, params), { signal })).json();

/** One output, asked about. */
export class Source {
  constructor(session, id) {
    this.session = session;
    this.id = id;
    this.handle = `${session}/${id}`;
    this.parts = ['sessions', session, 'outputs', id];
  }

  ask(what, params, signal) {
    return ask([...this.parts, ...(what ? [what] : [])], params, signal);
  }

  lines(params, signal) {
    return this.ask('lines', { width: 1000, ...params }, signal);
  }

  /** The secrets with their lines, unmasked. The server records that they were shown. */
  async revealed() {
    const response = await fetched(address([...this.parts, 'reveal']), { method: 'POST' });
    return (await response.json()).secrets;
  }

  get address() {
    return address([...this.parts, 'bytes']);
  }

  async bytes(start, end) {
    if (end <= start) return new Uint8Array();
    const response = await fetched(this.address, { headers: { range: `bytes=${start}-${end - 1}` } });
    return new Uint8Array(await response.arrayBuffer());
  }

  async blob(type) {
    const response = await fetched(this.address);
    return new Blob([await response.arrayBuffer()], { type: type ?? response.headers.get('content-type') });
  }
}

/** Every event of a session from a byte on, page by page; gives the byte to go on from. */
export async function pastEvents(session, { from = 0, output } = {}, take) {
  for (;;) {
    const { events, next } = await ask(['sessions', session, 'events'], { from, output, limit: 10000 });
    events.forEach(take);
    if (events.length < 10000) return next;
    from = next;
  }
}

/** Where the events of a session end now. */
export async function endOfEvents(session) {
  return (await ask(['sessions', session, 'events'], { since: '9999-01-01', limit: 1 })).next;
}

/** Events as they come, until the signal says that it is enough. A stream that breaks is taken up where it was. */
export async function follow(session, from, signal, take, state) {
  let pause = 500;
  while (!signal.aborted) {
    try {
      const response = await fetched(address(['sessions', session, 'events'], { from }), { headers: { accept: 'text/event-stream' }, signal });
      state(true);
      pause = 500;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        text += value;
        const whole = text.split('\n\n');
        text = whole.pop();
        for (const block of whole) {
          const fields = block.split('\n').map(line => line.match(/^(id|data): ?(.*)$/)).filter(Boolean);
          const { id, data } = Object.fromEntries(fields.map(([, name, value]) => [name, value]));
          if (id) from = Number(id);
          if (data) take(JSON.parse(data));
        }
      }
    } catch (error) {
      if (error.name === 'AbortError') return;
    }
    if (signal.aborted) return;
    state(false);
    await new Promise(resolve => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, 10000);
  }
}
