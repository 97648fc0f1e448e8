// Charts with two axes, linear or logarithmic, as SVG.
function nice_step(span, wanted) {
  const rough = span / wanted;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  return [1, 2, 5, 10].map(one => one * power).find(one => one >= rough * 0.999);
}
function linear_ticks(from, to, wanted) {
  const step = nice_step(to - from, wanted);
  const ticks = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to * (1 + 1e-9) + 1e-12; ++i) ticks.push(i * step);
  return ticks;
}
function log_ticks(from, to, wanted) {
  const [low, high] = [Math.floor(Math.log10(from)), Math.ceil(Math.log10(to))];
  const digits = high - low <= 2 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil((high - low) / wanted));
  const ticks = [];
  for (let power = low; power <= high; power += every)
    for (const digit of digits) ticks.push(digit * Math.pow(10, power));
  return ticks.filter(one => one >= from * 0.999 && one <= to * 1.001);
}
/** {at, ticks}: where a value is between 0 and 1. */
function scale(axis, values, wanted) {
  const known = values.filter(one => Number.isFinite(one) && (!axis.log || one > 0));
  let from = axis.from !== undefined ? axis.from : Math.min(...known);
  let to = axis.to !== undefined ? axis.to : Math.max(...known);
  if (axis.log) {
    if (!(to > from * 1.5)) [from, to] = [from / 2, to * 2];
    const [low, high] = [Math.log(from), Math.log(to)];
    const at = value => (Math.log(value) - low) / (high - low);
    return {at, ticks: axis.ticks || log_ticks(from, to, wanted)};
  }
  if (!(to > from)) [from, to] = from === 0 ? [0, 1] : [from - Math.abs(from) * 0.1, to + Math.abs(to) * 0.1];
  else if (axis.from === undefined || axis.to === undefined) {
    const room = (to - from) * 0.06;
    if (axis.from === undefined) from -= room;
    if (axis.to === undefined) to += room;
  }
  return {at: value => (value - from) / (to - from), ticks: axis.ticks || linear_ticks(from, to, wanted)};
}
function path_of(points, is_step) {
  let path = '';
  points.forEach(([x, y], i) => {
    if (i === 0) path += `M${x.toFixed(1)} ${y.toFixed(1)}`;
    else path += is_step ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `L${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  return path;
}
function legend_of(series) {
  return html('ul', {class: 'legend'}, series.map((one, i) => html('li', {},
    svg('svg', {viewBox: '0 0 26 10', 'aria-hidden': 'true'}, svg('path', {class: `line ${one.class || `c${i % 4}`}`, d: 'M0 5H26'})), one.name)));
}
function draw_axes(box, x, y, across, down) {
  const made = [];
  for (const tick of down.ticks) {
    const at = box.bottom - down.at(tick) * box.high;
    made.push(svg('line', {class: 'grid', x1: box.left, x2: box.right, y1: at, y2: at}),
              svg('text', {x: box.left - 7, y: at + 4, 'text-anchor': 'end'}, y.show(tick)));
  }
  for (const tick of across.ticks) {
    const at = box.left + across.at(tick) * box.wide;
    made.push(svg('line', {class: 'axis', x1: at, x2: at, y1: box.bottom, y2: box.bottom + 4}),
              svg('text', {x: at, y: box.bottom + 17, 'text-anchor': 'middle'}, x.show(tick)));
  }
  made.push(svg('line', {class: 'axis', x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom}),
            svg('text', {x: box.right, y: box.bottom + 33, 'text-anchor': 'end'}, x.name),
            svg('text', {x: 2, y: 12}, y.name));
  return made;
}
/** Marks are {x, name} or {y, name}. */
function draw_marks(box, marks, across, down) {
  return marks.flatMap(mark => {
    if (mark.y !== undefined) {
      const at = box.bottom - down.at(mark.y) * box.high;
      return [svg('line', {class: 'mark', x1: box.left, x2: box.right, y1: at, y2: at}),
              svg('text', {class: 'strong', x: box.right - 2, y: at - 5, 'text-anchor': 'end'}, mark.name)];
    }
    const at = box.left + across.at(mark.x) * box.wide;
    const is_late = at > box.left + box.wide / 2;
    return [svg('line', {class: 'mark', x1: at, x2: at, y1: box.top, y2: box.bottom}),
            svg('text', {class: 'strong', x: at + (is_late ? -5 : 5), y: box.top + 11, 'text-anchor': is_late ? 'end' : 'start'}, mark.name)];
  });
}
function draw_series(one, class_name, x, y, at) {
  const known = one.points.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b) && (!x.log || a > 0) && (!y.log || b > 0));
  const points = known.map(at);
  const made = [svg('path', {class: `line ${class_name}`, d: path_of(points, one.is_step)})];
  if (one.has_dots !== false) points.forEach(([a, b], i) => made.push(
    svg('circle', {class: `dot ${class_name}`, cx: a.toFixed(1), cy: b.toFixed(1), r: points.length > 60 ? 1.5 : 3}),
    svg('circle', {class: 'hit', cx: a.toFixed(1), cy: b.toFixed(1), r: 9},
        svg('title', {}, `${one.name}: ${y.show(known[i][1])} at ${x.show(known[i][0])}`))));
  return made;
}
/**
 * {title, label, x, y, series, marks}: an axis is {name, show, log, from, to, ticks}, a series {name, points, is_step, has_dots, class}.
 * `label` says in a sentence what one would see.
 */
function plot(options) {
  const {x, y, series, marks = []} = options;
  const picture = svg('svg', {role: 'img', 'aria-label': options.label});
  const host = html('div', {class: 'plot'}, html('h3', {}, options.title), picture, series.length > 1 ? legend_of(series) : null);
  redrawn(() => {
    const [width, height] = [Math.max(260, Math.floor(host.clientWidth)), 240];
    const box = {left: 62, right: width - 20, top: 24, bottom: height - 40};
    box.wide = box.right - box.left;
    box.high = box.bottom - box.top;
    const all = series.flatMap(one => one.points);
    const across = scale(x, all.map(one => one[0]).concat(marks.filter(one => one.x !== undefined).map(one => one.x)), box.wide / 80);
    const down = scale(y, all.map(one => one[1]).concat(marks.filter(one => one.y !== undefined).map(one => one.y)), 5);
    const at = ([a, b]) => [box.left + across.at(a) * box.wide, box.bottom - down.at(b) * box.high];
    set_all(picture, {viewBox: `0 0 ${width} ${height}`});
    picture.replaceChildren(...draw_axes(box, x, y, across, down), ...draw_marks(box, marks, across, down),
                            ...series.flatMap((one, i) => draw_series(one, one.class || `c${i % 4}`, x, y, at)));
  });
  return host;
}
