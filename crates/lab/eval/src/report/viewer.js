'use strict';
// Shows the prompts of a turn, two policies beside each other. The data is in #scenes.
const scenes = JSON.parse(document.getElementById('scenes').textContent);
const FATES = { s: 'shown', f: 'fetched', m: 'miss', l: 'lost' };
// The fates from the best to the worst.
const WORSE = Object.keys(FATES).join('');
const at = (id) => document.getElementById(id);

// Makes an element; children are elements or texts, so that no text of a prompt is markup.
function make(tag, className, ...children) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...children);
  return element;
}

function options(select, names, chosen) {
  select.replaceChildren(...names.map((name, index) => {
    const option = make('option', '', name);
    option.value = index;
    return option;
  }));
  select.value = chosen;
}

// Segments of a prompt: those that it shares with the prompt before, and its own.
function segments(scene, turn, policy) {
  const prompt = scene.turns[turn].prompts[policy];
  if (!prompt) return null;
  const [, , same, own] = prompt;
  const shared = same ? segments(scene, turn - 1, policy).slice(0, same) : [];
  return shared.concat(own);
}

// An expression for a text in a prompt: white space and JSON escapes in any form.
function expression(text) {
  const word = (part) => part
    .replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
    .replace(/\\\\/g, '\\\\+')
    .replace(/["']/g, '\\\\*$&');
  const space = '(?:[\\s\\u200b-\\u200d\\u2060\\ufeff]|\\\\+[nrt])+';
  const inside = '[\\p{L}\\p{N}_]';
  const first = new RegExp('^' + inside, 'u').test(text);
  const last = new RegExp(inside + '$', 'u').test(text);
  return (first ? `(?:(?<!${inside})|(?<=\\\\[nrt]))` : '')
    + text.split(' ').map(word).join(space) + (last ? `(?!${inside})` : '');
}

// The places of the needs in a text, without overlaps: the earliest and longest first. A place has the
// need that it is of, and those that begin inside it.
function places(text, needs) {
  const found = [];
  for (const [number, need] of needs) {
    for (const hit of text.matchAll(new RegExp(expression(need[1]), 'gu'))) {
      found.push([hit.index, hit.index + hit[0].length, [number]]);
    }
  }
  found.sort((one, other) => one[0] - other[0] || other[1] - one[1]);
  const apart = [];
  for (const place of found) {
    const before = apart.at(-1);
    if (before && place[0] < before[1]) before[2].push(...place[2]);
    else apart.push(place);
  }
  return apart;
}

// A text with its needs marked; `fateOf` gives the fate of a need, which is the colour of its marks.
function marked(text, places, fateOf) {
  const parts = [];
  let from = 0;
  for (const [start, end, numbers] of places) {
    const mark = make('mark', FATES[fateOf(numbers[0])] || '', text.slice(start, end));
    mark.dataset.needs = numbers.join(' ');
    parts.push(text.slice(from, start), mark);
    from = end;
  }
  return make('pre', '', ...parts, text.slice(from));
}

const needTexts = (scene, turn) => [...scene.turns[turn].needs.entries()].filter(([, need]) => need[1]);
// Who said a message, and the tools that the message calls.
const speaker = ([, who, , calls]) => who + (calls ? `, calls ${calls}` : '');
// The worse fate of a need in two prompts.
const worse = (scene, turn, policies) => (number) => policies
  .map((policy) => scene.turns[turn].prompts[policy]?.[1][number] ?? '')
  .reduce((one, other) => WORSE.indexOf(one) < WORSE.indexOf(other) ? other : one);
const badge = (fate) => make('b', `fate ${FATES[fate] || ''}`, FATES[fate] || '-');

function promptOf(scene, turn, policy, box) {
  const shown = segments(scene, turn, policy);
  if (!shown) {
    box.replaceChildren(make('p', 'none', 'This policy has no prompts for the conversation.'));
    return;
  }
  const { needs, prompts } = scene.turns[turn];
  const [tokens, fates] = prompts[policy];
  const texts = needTexts(scene, turn);
  const counts = Object.keys(FATES).map((fate) => {
    const count = [...fates].filter((other) => other === fate).length;
    return count ? [badge(fate), ` ${count}  `] : [];
  });
  const heading = make('h4', '', `${tokens} tokens, ${shown.length} segments  `, ...counts.flat());
  const blocks = shown.map(([text, kind, message]) => {
    const head = make('h4', '', scene.kinds[kind] + (message === null ? '' : ` p${message}`));
    needs.forEach((need, number) => {
      if (message === null || need[2] !== message || 'sf'.includes(fates[number]) && need[1]) return;
      const what = need[1] ? 'need' : 'new';
      head.append(` ${what} `, badge(fates[number]));
    });
    const block = make('div', `segment ${scene.kinds[kind]}`, head,
      marked(scene.texts[text], places(scene.texts[text], texts), (number) => fates[number]));
    block.dataset.message = message;
    return block;
  });
  box.replaceChildren(make('div', 'segment', heading), ...blocks);
  box.scrollTop = 0;
}

// Scrolls a box to an element in it, and nothing else.
function scroll(box, target) {
  box.scrollTop = target.offsetTop - box.offsetTop - 40;
}

// Shows where a need was said, and where it stands in both prompts.
function point(scene, turn, number) {
  const [, text, source, start, end] = scene.turns[turn].needs[number];
  const message = scene.messages[source];
  const place = text ? [[start, end, [number]]] : [];
  const policies = ['left', 'right'].map((id) => Number(at(id).value));
  const quote = marked(message[2], place, worse(scene, turn, policies));
  at('who').textContent = `: p${source}, ${speaker(message)} (${message[0]})`;
  at('said').replaceChildren(quote);
  scroll(at('said'), quote.querySelector('mark') ?? quote);
  for (const row of at('needs').children) row.className = row.dataset.need === `${number}` ? 'on' : '';
  for (const box of [at('left-prompt'), at('right-prompt')]) {
    // A prompt without the text goes to what it shows of the source.
    let target = box.querySelector(`[data-message="${source}"]`);
    let found = false;
    for (const mark of box.querySelectorAll('mark')) {
      const own = mark.dataset.needs.split(' ').includes(`${number}`);
      mark.classList.toggle('on', own);
      if (own && !found) [target, found] = [mark, true];
    }
    if (target) scroll(box, target);
  }
}

function needsOf(scene, turn, left, right) {
  const { needs, prompts } = scene.turns[turn];
  const filter = at('filter').value;
  const rows = needs.flatMap(([name, text, source, , , real], number) => {
    const fates = [left, right].map((policy) => prompts[policy]?.[1][number]);
    if (filter === 'lacking' && !fates.some((fate) => fate === 'm' || fate === 'l')) return [];
    if (filter === 'differ' && fates[0] === fates[1]) return [];
    const cells = [name + (real ? '' : ', not real'), `p${source}`];
    const row = make('tr', '', ...cells.map((cell) => make('td', '', cell)),
      make('td', 'text', text || 'the whole message, new to the agent'),
      ...fates.map((fate) => make('td', '', badge(fate))));
    row.dataset.need = number;
    row.onclick = () => point(scene, turn, number);
    row.tabIndex = 0;
    row.onkeydown = ({ key }) => key === 'Enter' && point(scene, turn, number);
    return [row];
  });
  at('needs').replaceChildren(...rows);
  at('count').textContent = `${rows.length} of ${needs.length} needs`;
}

function draw() {
  const scene = scenes[at('scene').value];
  const [turn, left, right] = ['turn', 'left', 'right'].map((id) => Number(at(id).value));
  const { turn: index } = scene.turns[turn];
  const message = scene.messages[index];
  const found = places(message[2], needTexts(scene, turn));
  at('name').textContent = `p${index}, ${speaker(message)}`;
  at('answer').replaceChildren(marked(message[2], found, worse(scene, turn, [left, right])));
  at('who').textContent = '';
  at('said').replaceChildren(make('span', 'none', 'Choose a need: this shows who said it, and both prompts go to it.'));
  for (const side of ['left', 'right']) at(`${side}-name`).textContent = scene.policies[side === 'left' ? left : right];
  needsOf(scene, turn, left, right);
  promptOf(scene, turn, left, at('left-prompt'));
  promptOf(scene, turn, right, at('right-prompt'));
}

function open() {
  const scene = scenes[at('scene').value];
  const chosen = (id, usual) => Math.max(0, scene.policies.indexOf(at(id).selectedOptions[0]?.textContent ?? usual));
  const last = scene.policies.findLast((name) => !name.startsWith('file:'));
  const [left, right] = [chosen('left', 'plain'), chosen('right', last)];
  options(at('left'), scene.policies, left);
  options(at('right'), scene.policies, right);
  const turns = scene.turns.map(({ turn, agent }, index) => `${index + 1} of ${scene.turns.length}: p${turn}, ${agent}`);
  options(at('turn'), turns, Math.floor(turns.length / 2));
  draw();
}

function step(by) {
  const turn = at('turn');
  const next = Number(turn.value) + by;
  if (next < 0 || next >= turn.options.length) return;
  turn.value = next;
  draw();
}

if (scenes.length > 0) {
  options(at('scene'), scenes.map(({ corpus, conversation }) => `${corpus}: ${conversation}`), 0);
  at('scene').onchange = open;
  for (const id of ['turn', 'left', 'right', 'filter']) at(id).onchange = draw;
  at('back').onclick = () => step(-1);
  at('on').onclick = () => step(1);
  open();
}
