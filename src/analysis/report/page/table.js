// Tables sort by a click, or Enter, on a column's head.
function sort_value(row, column) {
  const cell = row.cells[column];
  const value = cell.dataset.value !== undefined ? cell.dataset.value : cell.textContent.trim();
  return value === '' ? null : value;
}
/** By number if all of the column are numbers, else by text: keys such as 12e5a7 are not numbers. Unknown ones come last. */
function sort_table(made, column, direction) {
  const body = made.tBodies[0];
  const rows = Array.from(body.rows, (row, i) => ({row, i, value: sort_value(row, column)}));
  const are_numbers = rows.every(one => one.value === null || !Number.isNaN(Number(one.value)));
  if (are_numbers) rows.forEach(one => { one.value = one.value === null ? null : Number(one.value); });
  rows.sort((a, b) => {
    if (a.value === null || b.value === null) return (a.value === null) - (b.value === null) || a.i - b.i;
    return direction * ((a.value > b.value) - (a.value < b.value)) || a.i - b.i;
  });
  body.append(...rows.map(one => one.row));
  Array.from(made.tHead.rows[0].cells, (cell, i) => {
    if (i === column) cell.setAttribute('aria-sort', direction > 0 ? 'ascending' : 'descending');
    else cell.removeAttribute('aria-sort');
  });
}
function make_sortable(made) {
  if (made.tBodies[0].rows.length < 2) return;
  Array.from(made.tHead.rows[0].cells, (cell, column) => {
    const button = html('button', {type: 'button'}, ...Array.from(cell.childNodes));
    button.addEventListener('click', () => {
      const is_up = cell.getAttribute('aria-sort') === 'ascending';
      sort_table(made, column, is_up ? -1 : 1);
      say(`Sorted by ${button.textContent}, ${is_up ? 'descending' : 'ascending'}.`);
    });
    cell.append(button);
  });
}
function say(words) { document.getElementById('said').textContent = words; }
