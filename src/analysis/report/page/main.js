// Puts everything in its place. A section that fails says so; the others are drawn all the same.
const data = JSON.parse(document.getElementById('data').textContent);

function section(id, draw) {
  try {
    draw();
  } catch (error) {
    console.error(error);
    place(id).append(empty(`This part could not be drawn: ${error.message}`));
  }
}
function with_trace(id, draw) {
  section(id, () => {
    if (data.trace) draw(data.trace);
    else place(id).append(empty(data.trace_note));
  });
}
function redraw_all() { redraws.forEach(draw => draw()); }

function choose_colours(button) {
  const names = {auto: 'system', light: 'light', dark: 'dark'};
  const root = document.documentElement;
  const store = {
    get() { try { return localStorage.getItem('espalier-colours'); } catch (error) { return null; } },
    set(value) { try { localStorage.setItem('espalier-colours', value); } catch (error) { /* not kept, then */ } },
  };
  const use = choice => {
    if (choice === 'auto') delete root.dataset.theme;
    else root.dataset.theme = choice;
    button.textContent = `Colours: ${names[choice]}`;
    redraw_all();
  };
  let choice = names[store.get()] ? store.get() : 'auto';
  button.hidden = false;
  button.addEventListener('click', () => {
    choice = {auto: 'light', light: 'dark', dark: 'auto'}[choice];
    store.set(choice);
    use(choice);
  });
  use(choice);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw_all);
  addEventListener('beforeprint', () => {
    root.dataset.theme = 'light';
    redraw_all();
  });
  addEventListener('afterprint', () => use(choice));
}

async function copy(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch (error) {
    getSelection().selectAllChildren(source);
    return document.execCommand('copy');
  }
}
function offer_copies() {
  for (const block of document.querySelectorAll('.copy')) {
    const button = html('button', {type: 'button'}, 'Copy');
    button.addEventListener('click', async () => {
      const is_done = await copy(block.querySelector('pre'));
      button.textContent = is_done ? 'Copied' : 'Selected: press Ctrl+C';
      say(button.textContent);
    });
    block.append(button);
  }
}
/** One window over the page for all drawings; the browser gives it Escape, keeps the focus in it and puts it back. */
function offer_enlarged() {
  const images = document.querySelectorAll('figure img');
  if (images.length === 0) return;
  const title = html('p', {class: 'title', id: 'large-title'});
  const close = html('button', {type: 'button'}, 'Close');
  const stage = html('div', {class: 'stage', tabindex: '0', role: 'region', 'aria-labelledby': 'large-title'});
  const large = html('dialog', {id: 'large', 'aria-labelledby': 'large-title'}, html('div', {class: 'tools'}, title, close), stage);
  document.body.append(large);
  close.addEventListener('click', () => large.close());
  large.addEventListener('click', event => { if (event.target === large) large.close(); });
  for (const image of images) {
    const caption = image.closest('figure').querySelector('figcaption').textContent;
    const button = html('button', {type: 'button', class: 'picture', title: 'Click or press Enter to enlarge', 'aria-haspopup': 'dialog'});
    image.replaceWith(button);
    button.append(image);
    button.addEventListener('click', () => {
      title.textContent = caption;
      const copied = image.cloneNode();
      stage.replaceChildren(copied);
      large.showModal();
      const fit = Math.min(stage.clientWidth / image.naturalWidth, stage.clientHeight / image.naturalHeight);
      copied.width = Math.floor(image.naturalWidth * Math.max(1, Math.min(2, fit)));
      stage.focus();
    });
  }
}

section('funnel-picture', () => draw_funnel(data.funnel));
section('progress-plots', () => draw_progress(data.progress, data.cost));
with_trace('efficiency-trees', draw_efficiency);
with_trace('strip-picture', draw_strip);
with_trace('where-tables', draw_where);
with_trace('subtrees-table', draw_subtrees);
with_trace('sizes-plots', draw_sizes);
section('scaling-plots', () => draw_scaling(data.scaling, data.scaling_note));
with_trace('solver-plots', draw_solver);
for (const host of document.querySelectorAll('.plots')) host.style.setProperty('--columns', host.querySelectorAll(':scope > :not(.all)').length || 1);
document.querySelectorAll('table.sortable').forEach(made => { if (!made.querySelector('th button')) make_sortable(made); });
offer_copies();
offer_enlarged();
choose_colours(document.getElementById('theme'));

let pending = 0;
addEventListener('resize', () => {
  cancelAnimationFrame(pending);
  pending = requestAnimationFrame(redraw_all);
});
document.documentElement.dataset.ready = 'yes';
