// The list of sessions, the keys, and the start.

const WIDE = matchMedia('(min-width: 56.01rem)');

async function watchSessions() {
  for (;;) {
    if (!document.hidden) {
      try {
        sessions = await (await ask('')).json();
        drawSessions();
        if (!view && !location.hash && sessions.length && WIDE.matches) {
          location.replace(at('session-list').querySelector('a').hash);
        }
        if (!view) tell('live', 'Connected');
      } catch (error) {
        if (!view) tell('lost', `No list of sessions: ${error.message}`);
      }
    }
    await pause(3000);
  }
}

function drawSessions() {
  if (!sessions) return;
  const wanted = at('find').value.trim().toLowerCase();
  const found = sessions.filter((one) => one.session.toLowerCase().includes(wanted));
  found.sort((one, other) => other.open - one.open || other.at - one.at || (one.session < other.session ? -1 : 1));
  const shown = found.slice(0, SHOWN);
  const drawn = JSON.stringify([shown, view?.name]);
  at('find').hidden = sessions.length < 8 && !wanted;
  at('sessions-none').hidden = sessions.length > 0;
  at('sessions-count').textContent = shown.length < sessions.length
    ? `${shown.length} of ${sessions.length}` : sessions.length || '';
  if (at('session-list').dataset.drawn === drawn) return;
  at('session-list').dataset.drawn = drawn;
  const focused = document.activeElement?.closest?.('#session-list a')?.hash;
  at('session-list').replaceChildren(...shown.map((one) => {
    const link = make('a', one.open ? 'open' : '', make('b', '', one.session),
      make('small', '', `${counted(one.last, 'entry', 'entries')}${one.at ? `, ${moment(one.at * 1000)}` : ''}`));
    link.href = `#${encodeURIComponent(one.session)}`;
    link.title = one.open ? 'In memory' : 'In the store';
    if (one.session === view?.name) link.ariaCurrent = 'true';
    return make('li', '', link);
  }));
  if (focused) [...at('session-list').querySelectorAll('a')].find((link) => link.hash === focused)?.focus();
}

// Ways through the page.

function show(name) {
  document.body.dataset.view = name;
  for (const tab of at('views').children) tab.ariaCurrent = tab.dataset.view === name ? 'page' : null;
  // A hidden list forgets where it was.
  if (name === 'log' && at('latest').hidden && !WIDE.matches) log.scrollTop = log.scrollHeight;
}

const visible = () => (view ? view.entries.filter(({ item }) => !item.hidden) : []);

function focusOn(entry) {
  if (!entry) return;
  for (const { row } of view.entries) row.tabIndex = -1;
  entry.row.tabIndex = 0;
  entry.row.focus();
  entry.item.scrollIntoView({ block: 'nearest' });
}

// Moves the focus along a list of elements by a key. Returns the element, or nothing.
function step(elements, key) {
  const now = elements.indexOf(document.activeElement);
  const to = { ArrowDown: now + 1, j: now + 1, ArrowUp: now - 1, k: now - 1, Home: 0, End: elements.length - 1 }[key];
  return to === undefined ? null : elements[Math.max(0, Math.min(to, elements.length - 1))];
}

function press(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || at('login').open) return;
  const isText = target.matches('input:not([type=checkbox])');
  if (isText && key !== 'Escape' && !(key === 'ArrowDown' && target === at('filter'))) return;
  if (key === '/') {
    show('log');
    at('filter').focus();
  } else if (key === 's') {
    show('sessions');
    (document.querySelector('#session-list a[aria-current]') ?? document.querySelector('#session-list a'))?.focus();
  } else if (key === 'Escape') {
    escape(target);
  } else if (target.closest('#session-list')) {
    const link = step([...document.querySelectorAll('#session-list a')], key);
    if (!link) return;
    link.focus();
  } else if (target === document.body || isText || target.closest('#frames')) {
    if (key === 'End' && !at('latest').hidden) latest();
    const rows = visible();
    const isRow = target.matches('.row');
    const row = isRow ? step(rows.map((entry) => entry.row), key)
      : ['ArrowDown', 'ArrowUp', 'Home', 'End'].includes(key) && (rows.find((entry) => entry.row.tabIndex === 0) ?? rows.at(-1))?.row;
    if (!row || (!isRow && target.closest('#frames'))) return;
    focusOn(rows.find((entry) => entry.row === row));
  } else {
    return;
  }
  event.preventDefault();
}

// Goes one step back: the filter is cleared, then left; a frame is closed.
function escape(target) {
  if (target.matches('input') && target.value) {
    target.value = '';
    target.dispatchEvent(new Event('input'));
    return;
  }
  const entry = visible().find(({ item }) => item.contains(target)) ?? visible().find(({ row }) => row.tabIndex === 0);
  if (!entry) return;
  if (entry.item.contains(target)) expand(entry, false);
  focusOn(entry);
}

function follows() {
  let name = location.hash.slice(1);
  try {
    name = decodeURIComponent(name);
  } catch {
    // The hub says that there is no such session.
  }
  if (name && name !== view?.name) enter(name);
}

at('host').textContent = location.host;
document.addEventListener('keydown', press);
document.addEventListener('visibilitychange', () => document.hidden && view?.stop.abort());
addEventListener('hashchange', follows);
list.addEventListener('focusin', ({ target }) => {
  if (!target.matches('.row')) return;
  view.place = target;
  for (const { row } of view.entries) row.tabIndex = row === target ? 0 : -1;
});
at('views').addEventListener('click', ({ target }) => target.dataset.view && show(target.dataset.view));
at('session-list').addEventListener('click', ({ target }) => target.closest('a')?.ariaCurrent && show('log'));
at('find').addEventListener('input', drawSessions);
at('filter').addEventListener('input', () => view && sift(view));
at('controls').addEventListener('change', () => view && sift(view));
at('earlier').addEventListener('click', () => earlier().catch((error) => tell('lost', error.message)));
at('latest').addEventListener('click', () => {
  latest();
  focusOn(visible().at(-1));
});
log.addEventListener('scroll', () => {
  if (view?.waiting.length && !view.isApart && isAtEnd()) latest();
});
at('model').addEventListener('toggle', () => at('model').open && view && readModel(view).catch((error) => { at('model-text').textContent = error.message; }));
at('lookup').addEventListener('submit', (event) => {
  event.preventDefault();
  const reference = at('reference').value.trim().replace(/^\$/, '');
  if (!reference || !view) return;
  at('found').replaceChildren();
  value(reference, at('found'));
});
at('forget').addEventListener('click', () => {
  sessionStorage.removeItem(KEY);
  location.reload();
});
at('login').addEventListener('cancel', (event) => event.preventDefault());
at('login').addEventListener('close', () => asked && at('login').showModal());
show('sessions');
follows();
watchSessions();
