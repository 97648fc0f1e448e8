// Elements are made from values, never from markup: text of a run cannot become part of the page's code.
function add(parent, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
  return parent;
}
function set_all(element, attributes) {
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  return element;
}
function html(name, attributes = {}, ...children) {
  return add(set_all(document.createElement(name), attributes), children);
}
function svg(name, attributes = {}, ...children) {
  return add(set_all(document.createElementNS('http://www.w3.org/2000/svg', name), attributes), children);
}
function place(id) {
  const host = document.getElementById(id);
  host.replaceChildren();
  return host;
}
function empty(why) { return html('p', {class: 'empty all'}, why); }
function notes(list) { return list.map(one => html('p', {class: 'note all'}, one)); }

/** What changes with the window's width: drawn now and again later. */
const redraws = [];
function redrawn(draw) {
  redraws.push(draw);
  requestAnimationFrame(draw);
}

/** Columns are {name, number, show}; a cell's value sorts it, `show` tells it. */
function table(caption, columns, rows, more = {}) {
  const head = columns.map(one => html('th', {scope: 'col', class: one.number ? 'number' : null}, one.name));
  const body = rows.map(row => html('tr', {}, columns.map((one, i) => {
    const value = row[i];
    const is_known = value !== null && value !== undefined;
    return html('td', {class: one.number ? 'number' : null, 'data-value': is_known ? value : ''},
                !is_known ? '–' : one.show ? one.show(value) : value);
  })));
  const made = html('table', {class: 'sortable'}, html('caption', {}, caption), html('thead', {}, html('tr', {}, head)), html('tbody', {}, body));
  make_sortable(made);
  return html('div', {class: more.is_long ? 'wide scroll' : 'wide', tabindex: more.is_long ? '0' : null,
                      role: more.is_long ? 'region' : null, 'aria-label': more.is_long ? caption : null}, made);
}
/** The same numbers for those who do not see a chart. */
function alternative(caption, columns, rows) {
  return html('details', {class: 'all'}, html('summary', {}, 'As a table'), table(caption, columns, rows, {is_long: rows.length > 16}));
}
