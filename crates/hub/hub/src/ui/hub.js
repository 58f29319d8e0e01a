// What all of the page needs, and requests to the hub. The page shows the sessions of a hub. All that agents have written goes into the page as text, never as markup.

const KEPT = 400; // The most frames in the page.
const PIECE = 200; // Frames that are loaded at a time.
const LONG = 20000; // Characters of a value that are shown at once.
const SHOWN = 200; // The most sessions in the list.
const NOBODY = 99; // The number in place of a member while a request waits for an agent.
const LINES = 'application/x-ndjson';
const KEY = 'accp-token';
const TRIGGERS = {
  done: 'a task is done', hot: 'the frames took too many tokens', esc: 'a task was handed over',
  phase: 'a phase has ended', comp: 'an agent asked for it',
};

const at = (id) => document.getElementById(id);
const log = at('scroll');
const list = at('frames');

// The session in the page, and all that is known of it.
let view = null;
let sessions = null;
let asked = null;

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

function button(className, text, press) {
  const element = make('button', className, text);
  element.type = 'button';
  element.addEventListener('click', press);
  return element;
}

const counted = (count, one, many = `${one}s`) => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const span = ([from, to]) => (from === to ? `p${from}` : `p${from}–p${to}`);
const pretty = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

function moment(ms, isWhole) {
  const time = new Date(ms);
  const hours = time.toLocaleTimeString('en-GB');
  if (isWhole) return `${time.toLocaleDateString('en-CA')} ${hours}`;
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? hours : time.toLocaleDateString('en', { month: 'short', day: 'numeric' });
}

function tell(state, text) {
  at('status').dataset.state = state;
  if (at('status').textContent !== text) at('status').textContent = text;
}

// Requests.

// Asks for a token, once for all requests that wait for it.
function login(why) {
  asked ??= new Promise((done) => {
    at('login-why').textContent = why;
    at('login').showModal();
    at('login-form').onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEY, at('token').value.trim());
      at('token').value = '';
      asked = null;
      at('login').close();
      done();
    };
  });
  return asked;
}

// Says why the hub refuses a request: its frame says what it expects.
function reason(text) {
  const said = /[{|]msg:((?:[^|}\\]|\\.)*)/.exec(text);
  if (!said) return text.slice(0, 200);
  // A frame has `_` for a space, `__` for `_`, `%XX` for the bytes of other characters, and a backslash before a delimiter.
  const expected = said[1].replace(/__?|\\(.)|(?:%[0-9A-Fa-f]{2})+/gs, (part, delimiter) => {
    if (delimiter) return delimiter;
    if (part[0] === '_') return part === '__' ? '_' : ' ';
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return `The hub expects ${expected}`;
}

async function ask(path, options = {}) {
  for (;;) {
    const token = sessionStorage.getItem(KEY);
    const headers = { ...options.headers, ...(token && { Authorization: `Bearer ${token}` }) };
    // The address is relative, because a proxy may serve the hub below a path.
    const answer = await fetch(`accp/v1/sessions${path}`, { ...options, headers });
    at('forget').hidden = !token;
    if (answer.ok) return answer;
    const said = reason(await answer.text());
    if (answer.status !== 401) throw new Error(`${said} (${answer.status})`);
    // Another request may have brought a token in the meantime.
    if (token === sessionStorage.getItem(KEY)) await login(token ? 'The hub does not know this token.' : '');
  }
}

const of = (name, rest) => `/${encodeURIComponent(name)}/${rest}`;

// Reads a body line by line, and gives all lines that are there at a time. A line with an error ends the body: the hub says there why the rest is missing.
async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n');
    rest = parts.pop();
    const entries = parts.map((line) => JSON.parse(line));
    const end = entries.findIndex(({ error }) => error);
    const good = end < 0 ? entries : entries.slice(0, end);
    if (good.length) yield good;
    if (end >= 0) throw new Error(`The hub expects ${entries[end].error.expected}`);
  }
}
