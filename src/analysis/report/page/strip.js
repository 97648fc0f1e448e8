// Ranks x time on a canvas: one picture with a column per bin is made once, and zooming only copies a part of it.
const kinds = ['expand', 'query', 'verify', 'wait', 'other'];

function decoded(base64) { return Uint8Array.from(atob(base64), one => one.charCodeAt(0)); }
function rgb(name) {
  const value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const long = value.length === 4 ? value.replace(/[0-9a-f]/gi, '$&$&') : value;
  return [1, 3, 5].map(at => parseInt(long.slice(at, at + 2), 16));
}
/** Shares of the kinds in a cell; they add up to 1. */
function shares_of(row, bin) {
  const [busy, query, verify, wait] = ['busy', 'query', 'verify', 'wait'].map(one => row[one][bin] / 255);
  const expand = Math.max(0, busy - query - verify);
  return [expand, query, verify, wait, Math.max(0, 1 - expand - query - verify - wait)];
}
function mean_shares(row, from, to) {
  const sum = [0, 0, 0, 0, 0];
  for (let bin = from; bin < to; ++bin) shares_of(row, bin).forEach((one, i) => { sum[i] += one; });
  return sum.map(one => one / Math.max(1, to - from));
}
function paint_stack(set, shares, colours, tall) {
  let done = 0, kind = 0, upto = shares[0];
  for (; done < tall; ++done) {
    while (kind < 4 && (done + 0.5) / tall > upto) upto += shares[++kind];
    set(tall - 1 - done, colours[kind]);
  }
}
/** A row of stacked shares is `tall` pixels high; 1: one colour, mixed. */
function strip_image(rows, bins, tall, gap) {
  const colours = kinds.map(one => rgb(`--${one}`));
  const image = new ImageData(bins, rows.length * tall);
  const pixels = new Uint32Array(image.data.buffer);
  const packed = ([r, g, b]) => 0xff000000 | b << 16 | g << 8 | r;
  rows.forEach((row, r) => {
    for (let bin = 0; bin < bins; ++bin) {
      const shares = shares_of(row, bin);
      const set = (y, colour) => { pixels[(r * tall + y + (tall > 1 ? gap : 0)) * bins + bin] = packed(colour); };
      if (tall > 1) paint_stack(set, shares, colours, tall - gap);
      else set(0, [0, 1, 2].map(c => Math.round(shares.reduce((sum, one, i) => sum + one * colours[i][c], 0))));
    }
  });
  const canvas = html('canvas');
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext('2d').putImageData(image, 0, 0);
  return canvas;
}

class Strip {
  constructor(host, trace) {
    this.trace = trace;
    this.bins = trace.timeline.busy.length;
    this.rows = trace.timeline.rows.map(one => Object.assign({}, one, ...['busy', 'query', 'verify', 'wait'].map(name => ({[name]: decoded(one[name])}))));
    this.start = trace.start;
    this.end = trace.start + this.bins * trace.timeline.bin;
    this.row_height = Math.max(2, Math.min(28, Math.floor(480 / this.rows.length)));
    this.box = {left: 78, right: 12, top: 74, bottom: 26};
    this.cursor = null;
    this.drag = null;
    this.canvas = html('canvas');
    this.tip = html('div', {class: 'tip', hidden: ''});
    this.host = html('div', {class: 'strip', id: 'strip-canvas', tabindex: '0', role: 'application', 'aria-roledescription': 'time strip', 'aria-describedby': 'strip-help'}, this.canvas, this.tip);
    this.range = html('span', {class: 'range'});
    const button = (name, label, act) => {
      const made = html('button', {type: 'button', 'aria-label': label}, name);
      made.addEventListener('click', act);
      return made;
    };
    const tools = html('div', {class: 'tools'}, button('+', 'Zoom in', () => this.zoom(0.5)), button('−', 'Zoom out', () => this.zoom(2)),
                       button('◀', 'Earlier', () => this.pan(-0.25)), button('▶', 'Later', () => this.pan(0.25)), button('All', 'Show the whole time', () => this.show(this.start, this.end)), this.range);
    const legend = html('ul', {class: 'legend'}, kinds.map(one => html('li', {}, html('i', {style: `background: var(--${one})`}), one)));
    const help = html('p', {class: 'note', id: 'strip-help'}, 'Drag over a part to zoom into it, double click to see all; Ctrl and the wheel zoom too (the wheel alone once the strip has the focus). Keys: arrows pan and choose a row, + and − zoom, Home shows all.');
    host.append(tools, this.host, legend, help);
    this.listen();
    redrawn(() => this.draw());
    this.show(this.start, this.end);
  }
  make_image() {
    const tall = this.row_height >= 8 ? this.row_height : 1;
    this.image = strip_image(this.rows, this.bins, tall, this.row_height >= 8 ? 2 : 0);
  }
  /** The visible part, kept within the run and at least four bins long. */
  show(from, to) {
    const least = Math.min(4 * this.trace.timeline.bin, this.end - this.start);
    const span = Math.min(Math.max(to - from, least), this.end - this.start);
    this.from = Math.min(Math.max(from, this.start), this.end - span);
    this.to = this.from + span;
    set_all(this.host, {'data-from': this.from.toFixed(9), 'data-to': this.to.toFixed(9),
      'aria-label': `Activity of ${text.plural(this.trace.all_ranks, 'rank')} over time, from ${text.seconds(this.from)} to ${text.seconds(this.to)}`});
    this.range.textContent = `${text.seconds(this.from)} to ${text.seconds(this.to)}`;
    if (this.width) this.paint();
  }
  zoom(factor, around = (this.from + this.to) / 2) { this.show(around - (around - this.from) * factor, around + (this.to - around) * factor); }
  pan(share) {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }
  time_at(x) { return this.from + (x - this.box.left) / this.wide * (this.to - this.from); }
  x_at(time) { return this.box.left + (time - this.from) / (this.to - this.from) * this.wide; }
  bin_at(time) { return Math.max(0, Math.min(this.bins - 1, Math.floor((time - this.start) / this.trace.timeline.bin))); }

  draw() {
    this.width = Math.max(260, Math.floor(this.host.clientWidth));
    this.height = this.box.top + this.rows.length * this.row_height + this.box.bottom;
    this.wide = this.width - this.box.left - this.box.right;
    const ratio = window.devicePixelRatio || 1;
    [this.canvas.width, this.canvas.height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    this.canvas.style.aspectRatio = `${this.width} / ${this.height}`;
    this.make_image();
    this.paint();
  }
  paint() {
    const ratio = window.devicePixelRatio || 1;
    const context = this.canvas.getContext('2d');
    const style = getComputedStyle(document.documentElement);
    this.colour = name => style.getPropertyValue(`--${name}`).trim();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = '12px system-ui, sans-serif';
    this.paint_busy(context);
    this.paint_rows(context);
    this.paint_axis(context);
    if (this.drag) this.paint_band(context);
    if (this.cursor) this.paint_cursor(context);
  }
  /** Threads over time: activities are stacked in the order, and with the colours, that they have in the rows. */
  paint_busy(context) {
    const [top, tall] = [14, this.box.top - 28];
    const most = this.trace.threads;
    context.save();
    context.beginPath();
    context.rect(this.box.left, 0, this.wide, this.box.top);
    context.clip();
    for (const kind of ['verify', 'query', 'expand']) {     // the highest first, the others over it
      context.fillStyle = this.colour(kind);
      this.paint_area(context, top + tall, bin => tall * Math.min(1, this.stacked(bin)[kind] / most));
    }
    context.restore();
    context.strokeStyle = this.colour('line');
    context.strokeRect(this.box.left + 0.5, top + 0.5, this.wide - 1, tall);
    context.fillStyle = this.colour('soft');
    context.textAlign = 'right';
    context.fillText(`${text.grouped(most)} busy`, this.box.left - 7, top + 9);
    context.fillText('0', this.box.left - 7, top + tall);
  }
  paint_area(context, bottom, high) {
    const bin = this.trace.timeline.bin;
    context.beginPath();
    context.moveTo(this.x_at(this.start), bottom);
    for (let i = 0; i < this.bins; ++i) {
      const y = bottom - high(i);
      context.lineTo(this.x_at(this.start + i * bin), y);
      context.lineTo(this.x_at(this.start + (i + 1) * bin), y);
    }
    context.lineTo(this.x_at(this.end), bottom);
    context.fill();
  }
  /** Threads up to and including each activity. */
  stacked(bin) {
    const {busy, query, verify} = this.trace.timeline;
    const without = Math.max(0, busy[bin] - verify[bin]);
    return {expand: Math.max(0, without - query[bin]), query: without, verify: busy[bin]};
  }
  paint_rows(context) {
    const span = this.end - this.start;
    const [from, part] = [(this.from - this.start) / span * this.bins, (this.to - this.from) / span * this.bins];
    context.imageSmoothingEnabled = part > this.wide;
    context.drawImage(this.image, from, 0, part, this.image.height, this.box.left, this.box.top, this.wide, this.rows.length * this.row_height);
    context.fillStyle = this.colour('soft');
    context.textAlign = 'right';
    const every = Math.ceil(15 / this.row_height);
    this.rows.forEach((row, i) => {
      if (i % every !== 0) return;
      const name = row.first === row.last ? `rank ${row.first}` : `${row.first}–${row.last}`;
      context.fillText(name, this.box.left - 7, this.box.top + (i + 0.5) * this.row_height + (every > 1 ? 8 : 4));
    });
  }
  paint_axis(context) {
    const y = this.box.top + this.rows.length * this.row_height;
    context.strokeStyle = context.fillStyle = this.colour('soft');
    for (const tick of linear_ticks(this.from, this.to, Math.max(2, this.wide / 110))) {
      const x = this.x_at(tick);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x, y + 5);
      context.stroke();
      context.textAlign = x > this.box.left + this.wide - 30 ? 'right' : 'center';
      context.fillText(text.seconds(tick), x, y + 18);
    }
  }
  paint_band(context) {
    context.fillStyle = this.colour('focus');
    context.globalAlpha = 0.25;
    context.fillRect(this.drag.from, this.box.top, this.drag.to - this.drag.from, this.rows.length * this.row_height);
    context.globalAlpha = 1;
  }
  paint_cursor(context) {
    context.strokeStyle = this.colour('focus');
    context.lineWidth = 1.5;
    const x = this.x_at(this.cursor.time);
    const y = this.box.top + this.cursor.row * this.row_height;
    context.strokeRect(this.box.left, y, this.wide, this.row_height);
    context.beginPath();
    context.moveTo(x, 14);
    context.lineTo(x, this.box.top + this.rows.length * this.row_height);
    context.stroke();
    context.lineWidth = 1;
  }

  busy_text(bin) {
    const upto = this.stacked(bin);
    const parts = [['expand', upto.expand], ['query', upto.query - upto.expand], ['verify', upto.verify - upto.query]];
    const told = parts.map(([kind, threads]) => `${kind} ${text.significant(Math.max(0, threads), 2)}`).join(', ');
    return `${text.significant(upto.verify)} of ${text.plural(this.trace.threads, 'thread')} busy: ${told}`;
  }
  /** Rank, time and shares of the cell under the cursor. */
  point(row, time, is_spoken) {
    this.cursor = {row, time};
    const one = this.rows[row];
    const bin = this.bin_at(time);
    const from = this.start + bin * this.trace.timeline.bin;
    const title = `${text.ranks(one.first, one.last)}${one.host ? ` on ${one.host}` : ''}, ${text.seconds(from)} to ${text.seconds(from + this.trace.timeline.bin)}`;
    const shares = shares_of(one, bin).map((share, i) => `${kinds[i]} ${Math.round(100 * share)} %`).join(', ');
    this.tip.replaceChildren(html('p', {}, html('strong', {}, title)), html('p', {}, shares), html('p', {}, this.busy_text(bin)));
    this.tip.hidden = false;
    const x = this.x_at(time);
    this.tip.style.left = `${Math.max(4, x > this.width / 2 ? x - this.tip.offsetWidth - 14 : x + 14)}px`;
    this.tip.style.top = `${this.box.top + (row + 1) * this.row_height + 8}px`;
    if (is_spoken) say(`${title}: ${shares}`);
    this.paint();
  }
  forget() {
    this.cursor = null;
    this.tip.hidden = true;
    this.paint();
  }
  place_of(event) {
    const frame = this.canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - frame.left) * this.width / frame.width, (event.clientY - frame.top) * this.height / frame.height];
    return {x: Math.max(this.box.left, Math.min(this.width - this.box.right, x)), row: Math.max(0, Math.min(this.rows.length - 1, Math.floor((y - this.box.top) / this.row_height)))};
  }
  listen() {
    this.canvas.addEventListener('wheel', event => {
      if (!event.ctrlKey && document.activeElement !== this.host) return;
      event.preventDefault();
      this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240))), this.time_at(this.place_of(event).x));
    }, {passive: false});
    this.canvas.addEventListener('pointerdown', event => {
      if (event.button !== 0) return;
      const {x} = this.place_of(event);
      this.drag = {from: x, to: x};
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener('pointermove', event => {
      const {x, row} = this.place_of(event);
      if (this.drag) this.drag.to = x;
      this.point(row, this.time_at(x), false);
    });
    this.canvas.addEventListener('pointerup', () => {
      const drag = this.drag;
      this.drag = null;
      if (drag && Math.abs(drag.to - drag.from) > 5) this.show(this.time_at(Math.min(drag.from, drag.to)), this.time_at(Math.max(drag.from, drag.to)));
      else this.paint();
    });
    this.canvas.addEventListener('pointercancel', () => { this.drag = null; this.paint(); });
    this.canvas.addEventListener('pointerleave', () => { if (!this.drag) this.forget(); });
    this.canvas.addEventListener('dblclick', () => this.show(this.start, this.end));
    this.host.addEventListener('blur', () => this.forget());
    this.host.addEventListener('keydown', event => this.on_key(event));
  }
  on_key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = this.cursor ? this.cursor.row : -1;
    const acts = {
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2), Home: () => this.show(this.start, this.end),
      ArrowUp: () => this.point(Math.max(0, row - 1), (this.from + this.to) / 2, true), ArrowDown: () => this.point(Math.min(this.rows.length - 1, row + 1), (this.from + this.to) / 2, true),
      Escape: () => this.forget(),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
    if (!event.key.startsWith('Arrow') && this.cursor && event.key !== 'Escape') this.point(this.cursor.row, (this.from + this.to) / 2, true);
    else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') this.point(Math.max(0, row), (this.from + this.to) / 2, true);
  }
}

function draw_strip(trace) {
  const host = place('strip-picture');
  if (trace.timeline.rows.length === 0 || trace.timeline.busy.length === 0) return void host.append(empty('The trace holds no events, so there is nothing to show over time.'));
  const strip = new Strip(host, trace);
  const names = new Map(strip.rows.map(row => [row.first, row.first === row.last ? row.first : `${row.first}–${row.last}`]));
  host.append(alternative('Shares of the threads’ time over the whole run', [{name: 'ranks', show: first => names.get(first)}, ...kinds.map(percent_column)],
    strip.rows.map(row => [row.first, ...mean_shares(row, 0, strip.bins)])));
}
