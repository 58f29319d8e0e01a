// One session: its frames.

async function enter(name) {
  view?.stop.abort();
  view = {
    name, stop: new AbortController(), first: 1, last: 0, entries: [], waiting: [], isApart: false,
    hot: null, position: 0, place: null, checkpoints: new Map(), again: 0,
  };
  const mine = view;
  document.title = `${name} – ACCP hub`;
  at('log-title').textContent = name;
  list.replaceChildren();
  for (const id of ['latest', 'earlier', 'frames-none']) at(id).hidden = true;
  at('found').replaceChildren();
  at('model').open = false;
  show('log');
  drawSessions();
  tell('wait', 'Connecting');
  for (let wait = 1; view === mine; wait = Math.min(wait * 2, 30)) {
    try {
      await readState(mine);
      if (view !== mine) return;
      mine.last = Math.max(0, mine.position - PIECE);
      mine.first = mine.last + 1;
      drawCount();
      await follow(mine);
      return;
    } catch (error) {
      if (view !== mine) return;
      tell('lost', `${error.message}; again in ${wait} s`);
      await pause(wait * 1000);
    }
  }
}

// Reads the log as it grows, and comes back when the connection is lost.
async function follow(mine) {
  for (let wait = 1; view === mine; wait = Math.min(wait * 2, 30)) {
    try {
      if (document.hidden) await new Promise((done) => { document.addEventListener('visibilitychange', done, { once: true }); });
      await readState(mine);
      // The hub may have come back with another log.
      if (view === mine && mine.position < mine.last) return void enter(mine.name);
      mine.stop = new AbortController();
      const options = { headers: { Accept: LINES }, signal: mine.stop.signal };
      const answer = await ask(of(mine.name, `frames?follow=true&after=${mine.last}`), options);
      if (view !== mine) return void mine.stop.abort();
      tell('live', 'Live');
      for await (const entries of lines(answer.body)) {
        if (view !== mine) return;
        wait = 1;
        take(mine, entries);
      }
      throw new Error('Connection closed');
    } catch (error) {
      if (view !== mine) return;
      if (mine.stop.signal.aborted) {
        tell('wait', 'Paused');
        wait = 1;
        continue;
      }
      tell('lost', `${error.message}; again in ${wait} s`);
      await pause(wait * 1000);
    }
  }
}

// Keeps the checkpoints of these entries, and forgets those that were met first.
function remember({ checkpoints }, entries) {
  for (const { checkpoint } of entries) if (checkpoint) checkpoints.set(checkpoint.id, checkpoint);
  for (const id of checkpoints.keys()) {
    if (checkpoints.size <= KEPT) break;
    checkpoints.delete(id);
  }
}

const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 48;

function take(mine, entries) {
  mine.last = entries.at(-1).position;
  remember(mine, entries);
  mine.again ||= setTimeout(() => {
    mine.again = 0;
    readState(mine).catch(() => {});
  }, 250);
  // Who reads earlier frames is not disturbed.
  if (mine.isApart || mine.waiting.length || (mine.entries.length && !isAtEnd())) {
    mine.waiting.push(...entries);
    if (mine.waiting.length > KEPT) {
      mine.isApart = true;
      mine.waiting.splice(0, mine.waiting.length - KEPT);
    }
    const more = mine.waiting.length;
    at('latest').textContent = mine.isApart ? 'Go to the newest frames ↓' : `${counted(more, 'new frame')} ↓`;
    at('latest').hidden = false;
  } else {
    append(mine, entries);
  }
}

function append(mine, entries) {
  const fresh = entries.slice(-KEPT).map(entryOf);
  mine.entries.push(...fresh);
  list.append(...fresh.map(({ item }) => item));
  const over = mine.entries.splice(0, Math.max(0, mine.entries.length - KEPT));
  for (const { item } of over) item.remove();
  if (over.length || fresh.length < entries.length) mine.first = mine.entries[0].data.position;
  drawn(mine);
  log.scrollTop = log.scrollHeight;
}

// Shows the frames that came while somebody read earlier ones.
function latest() {
  at('latest').hidden = true;
  const { waiting } = view;
  if (view.isApart) return void enter(view.name);
  view.waiting = [];
  append(view, waiting);
}

// Loads the frames before the first one in the page.
async function earlier() {
  const mine = view;
  const from = Math.max(0, mine.first - 1 - PIECE);
  const height = log.scrollHeight - log.scrollTop;
  const before = await piece(mine, from, mine.first);
  if (view !== mine) return;
  mine.first = from + 1;
  mine.entries.unshift(...before);
  list.prepend(...before.map(({ item }) => item));
  const over = mine.entries.splice(2 * KEPT);
  for (const { item } of over) item.remove();
  if (over.length) [mine.isApart, at('latest').hidden, at('latest').textContent] = [true, false, 'Go to the newest frames ↓'];
  drawn(mine);
  log.scrollTop = log.scrollHeight - height;
}

// Reads the entries after one position and before another.
async function piece(mine, after, before) {
  const query = `frames?after=${after}&limit=${before - after - 1}`;
  const answer = await ask(of(mine.name, query), { headers: { Accept: LINES } });
  const found = [];
  for await (const entries of lines(answer.body)) found.push(...entries.filter(({ position }) => position < before));
  remember(mine, found);
  return found.map(entryOf);
}

// Goes to a frame, which is loaded if it has to be.
async function goTo(position) {
  const mine = view;
  show('log');
  if (!mine.entries.some(({ data }) => data.position === position)) {
    const after = Math.max(0, position - PIECE / 2);
    const around = await piece(mine, after, after + PIECE + 1);
    if (view !== mine) return;
    Object.assign(mine, { first: after + 1, entries: around, isApart: true });
    list.replaceChildren(...around.map(({ item }) => item));
    at('latest').textContent = 'Go to the newest frames ↓';
    at('latest').hidden = false;
    drawn(mine);
  }
  const target = mine.entries.find(({ data }) => data.position >= position);
  if (!target) return;
  at('filter').value = '';
  sift(mine);
  expand(target, true);
  focusOn(target);
}

// Frames.

function title(data) {
  const { checkpoint, words, agent } = data;
  if (checkpoint) {
    const spans = checkpoint.left.slice(0, 3).map(span).join(', ');
    const more = checkpoint.left.length > 3 ? ` and ${checkpoint.left.length - 3} more` : '';
    return [make('b', '', `Checkpoint ${checkpoint.id}`),
      `: ${spans || 'nothing'}${more} left the context, ${counted(checkpoint.kept, 'frame stays', 'frames stay')}`];
  }
  return agent && words.startsWith(`${agent} `) ? [make('b', '', agent), words.slice(agent.length)] : [words];
}

function entryOf(data) {
  const entry = { data, text: `${data.words} ${data.frame}`.toLowerCase() };
  const row = button('row', '', () => expand(entry));
  entry.tag = make('span', 'tag');
  const time = make('span', 'time', moment(data.at_ms));
  time.title = moment(data.at_ms, true);
  row.append(make('span', 'at', `p${data.position}`), time, make('span', 'words', ...title(data)), entry.tag);
  row.ariaExpanded = 'false';
  row.tabIndex = -1;
  const kind = data.kind === 'control' ? 'control' : /^[a-z]+$/.test(data.intent) ? data.intent : '';
  entry.row = row;
  entry.item = make('li', `${kind}${data.checkpoint ? ' checkpoint' : ''}`, row);
  return entry;
}

// Everything that depends on which frames are in the page.
function drawn(mine) {
  at('earlier').hidden = mine.first <= 1;
  mark(mine);
  sift(mine);
  // The keyboard enters at the frame where it was, or at the newest.
  if (mine.entries.some(({ row }) => row === mine.place)) return;
  for (const { row } of mine.entries) row.tabIndex = row === mine.entries.at(-1).row ? 0 : -1;
}

// The checkpoint with which a frame left the context, if it is known.
function leftWith(mine, position) {
  for (const { id, left } of mine.checkpoints.values()) {
    if (left.some(([from, to]) => from <= position && position <= to)) return id;
  }
  return null;
}

function place(mine, { position, kind, tokens }) {
  if (!mine.hot || kind === 'control') return ['', ''];
  if (mine.hot.has(position)) return tokens ? ['hot', `in context, ${tokens} tok`] : ['cut', 'too large for the context'];
  if (position > mine.position) return ['', ''];
  const id = leftWith(mine, position);
  return ['left', id ? `left with ckpt_${id}` : 'left'];
}

function mark(mine) {
  for (const { data, tag } of mine.entries) {
    const [className, text] = place(mine, data);
    if (tag.textContent !== text) tag.textContent = text;
    tag.className = `tag ${className}`;
  }
}

// Hides the frames that the filter does not want.
function sift(mine) {
  const words = at('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  const controls = at('controls').checked;
  let shown = 0;
  for (const { data, text, item } of mine.entries) {
    const fits = (controls || data.kind !== 'control') && words.every((word) => text.includes(word));
    item.hidden = !fits;
    shown += fits;
  }
  at('frames-none').hidden = shown > 0;
  at('frames-none').textContent = mine.entries.length ? 'No frame has these words.' : 'No frames yet.';
  drawCount(shown);
}

function drawCount(shown = view.entries.length) {
  const all = view.entries.length;
  at('log-count').textContent = shown < all ? `${shown} of ${counted(all, 'frame')}` : counted(all, 'frame');
}

function expand(entry, isOpen = entry.row.ariaExpanded !== 'true') {
  entry.row.ariaExpanded = String(isOpen);
  entry.detail?.remove();
  entry.detail = null;
  if (!isOpen) return;
  entry.detail = detail(entry.data);
  entry.item.append(entry.detail);
}

function detail(data) {
  const { checkpoint, frame } = data;
  const values = make('div');
  const box = make('div', 'open-frame', make('pre', '', ...referred(frame, values)), values);
  const facts = make('dl');
  const say = (name, ...value) => facts.append(make('dt', '', name), make('dd', '', ...value));
  say('Time', moment(data.at_ms, true));
  say('Sender', `${data.agent ?? 'unknown'}, member ${data.sender}`);
  if (data.to !== null) say('For', data.to === NOBODY ? 'no agent yet' : `member ${data.to}`);
  if (data.kind === 'repeat') {
    say('Kind', data.to === null ? 'a repeated request or its answer: it is handled once' : 'handed on to this member');
  }
  const [, where] = place(view, data);
  if (where) say('Context', where);
  if (checkpoint) {
    say('In words', data.words);
    say('Why', checkpoint.triggers.map((on) => TRIGGERS[on] ?? on).join('; ') || 'not said');
    const left = checkpoint.left.flatMap((range) => [jump(span(range), range[0]), ' ']);
    say('Left', ...(left.length ? left : ['nothing']));
    say('Stay', counted(checkpoint.kept, 'frame'));
    if (checkpoint.merged) say('Merged', `all checkpoints up to ckpt_${checkpoint.merged} became one`);
    if (checkpoint.digest) say('In their place', ...digestOf(checkpoint.digest));
  }
  box.append(facts);
  return box;
}

const jump = (text, position) => button('reference', text, () => goTo(position));

// The text of a frame, in which references show their values.
function referred(text, values) {
  const parts = [];
  let from = 0;
  for (const hit of text.matchAll(/\$((?:hot|warm|cold|ctx|ext)\.[A-Za-z0-9_.]+)/g)) {
    const shown = button('reference', hit[0], () => value(hit[1], values));
    shown.title = 'Show the value';
    parts.push(text.slice(from, hit.index), shown);
    from = hit.index + hit[0].length;
  }
  return [...parts, text.slice(from)];
}

// Shows the value of a reference in a box, or closes it if it is there.
async function value(reference, into) {
  const shown = [...into.children].find((box) => box.dataset.of === reference);
  if (shown) return void shown.remove();
  const box = make('div', 'value', make('p', 'note', `Reading ${reference}`));
  box.dataset.of = reference;
  into.append(box);
  const close = button('', 'Close', () => box.remove());
  try {
    const read = pretty(await (await ask(of(view.name, `values/${encodeURIComponent(reference)}`))).json());
    const text = make('pre', '', read.slice(0, LONG));
    text.tabIndex = 0;
    box.replaceChildren(make('p', 'note', `$${reference}`, close), text);
    if (read.length > LONG) {
      const rest = button('jump', `Show the other ${counted(read.length - LONG, 'character')}`, () => {
        text.textContent = read;
        rest.remove();
      });
      box.append(rest);
    }
  } catch (error) {
    box.replaceChildren(make('p', 'note bad', `$${reference}: ${error.message}`, close));
  }
}
