// The context.

async function readState(mine) {
  const state = await (await ask(of(mine.name, 'state'))).json();
  if (view !== mine) return;
  mine.position = state.position;
  mine.hot = state.tokenizer ? new Set(state.hot) : null;
  drawState(state);
  mark(mine);
  if (at('model').open) await readModel(mine);
}

// Draws a budget as a bar. A bar that is there already moves to its new width.
function meter(id, name, { used, limit, trigger }) {
  let box = at(id);
  if (!box) {
    box = make('div', 'meter', make('p', '', make('span', '', name), make('span')), make('div', 'track', make('div', 'fill')));
    box.id = id;
    const track = box.querySelector('.track');
    [track.role, track.ariaLabel, track.ariaValueMin] = ['meter', name, '0'];
    if (trigger) track.append(make('div', 'mark'));
    at('budget').append(box);
  }
  const share = limit ? used / limit : 0;
  const [track, fill] = [box.querySelector('.track'), box.querySelector('.fill')];
  fill.style.width = `${Math.min(100, share * 100)}%`;
  fill.className = `fill ${share > 1 ? 'over' : share > 0.8 ? 'near' : ''}`;
  const figures = `${used.toLocaleString('en')} of ${limit.toLocaleString('en')} tokens`;
  [track.ariaValueMax, track.ariaValueNow, track.ariaValueText] = [String(limit), String(used), figures];
  box.querySelector('p').lastChild.textContent = figures;
  if (trigger) {
    box.querySelector('.mark').style.left = `${(trigger / limit) * 100}%`;
    at('trigger').textContent = `Above ${trigger} tokens of frames, a checkpoint is taken.`;
  }
}

function digestOf({ summary, facts, tokens, late }) {
  const parts = [make('p', '', summary || 'No summary.')];
  if (late) parts.push(make('p', '', `Later summary of ckpt_${late.of}: ${late.summary}`));
  if (facts.length) {
    const rows = facts.map((fact) => make('tr', '', ...fact.map((cell) => make('td', '', pretty(cell)))));
    const head = ['of', 'what', 'value'].map((text) => make('th', '', text));
    parts.push(make('table', 'facts', make('thead', '', make('tr', '', ...head)), make('tbody', '', ...rows)));
  }
  parts.push(make('p', 'note', counted(tokens, 'token')));
  return parts;
}

function drawState(state) {
  const { budget, warm, tokenizer, members } = state;
  at('uncounted').hidden = Boolean(tokenizer);
  at('budget').hidden = !tokenizer;
  at('trigger').hidden = !tokenizer;
  meter('hot', 'Hot: recent frames', budget.hot);
  meter('warm', 'Warm: checkpoints', budget.warm);
  at('checkpoints-none').hidden = warm.length > 0;
  at('checkpoints-count').textContent = warm.length || '';
  const isOpen = new Set([...at('checkpoints').querySelectorAll('details[open]')].map((one) => one.dataset.id));
  at('checkpoints').replaceChildren(...warm.toReversed().map((one) => {
    const name = one.first < one.last ? `ckpt_${one.first} to ckpt_${one.last}` : `ckpt_${one.last}`;
    const left = one.cold ? `${span(one.cold)} left` : 'facts only';
    const box = make('details', '', make('summary', '', make('b', '', name), ` · ${left} · ${one.tokens} tok`), ...digestOf(one));
    if (one.cold) box.append(button('jump', `Show ${span(one.cold)}`, () => goTo(one.cold[0])));
    box.dataset.id = String(one.last);
    box.open = isOpen.has(box.dataset.id);
    return make('li', '', box);
  }));
  const isShown = new Set([...at('agents').querySelectorAll('details[open]')].map((one) => one.dataset.id));
  at('agents').replaceChildren(...members.map(({ number, agents, present, clashes }) => {
    const item = make('li', present ? '' : 'gone',
      make('span', '', agents.join(', ')), make('span', 'note', number === 100 ? 'host' : present ? `member ${number}` : 'has left'));
    if (present && clashes.length) {
      const box = make('details', 'clash', make('summary', '', 'Its schemas and those of the hub clash'), make('pre', '', clashes.join('\n')));
      box.dataset.id = String(number);
      box.open = isShown.has(box.dataset.id);
      item.append(box);
    }
    return item;
  }));
  const shared = Object.entries(state.state);
  at('version').textContent = state.version ? `version ${state.version}` : '';
  at('shared-none').hidden = shared.length > 0;
  at('shared').replaceChildren(...shared.flatMap(([key, one]) => [make('dt', '', key), make('dd', '', make('pre', '', pretty(one)))]));
}

async function readModel(mine) {
  const text = await (await ask(of(mine.name, 'context'))).text();
  if (view === mine) at('model-text').textContent = text;
}
