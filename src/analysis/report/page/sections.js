// The sections that are drawn from the data; each takes what it needs and fills its place.
const seconds_column = name => ({name, number: true, show: text.seconds});
const count_column = name => ({name, number: true, show: text.grouped});
const percent_column = name => ({name, number: true, show: text.percent});
const level = share => share >= 0.8 ? 'good' : share >= 0.6 ? 'fair' : 'poor';

function draw_funnel(steps) {
  const host = place('funnel-picture');
  if (steps.length === 0) return void host.append(empty('The problem keeps no funnel.'));
  const most = Math.max(1, ...steps.map(one => one.count));
  const length = count => count > 0 ? Math.log(1 + count) / Math.log(1 + most) : 0;
  const kept = steps.filter(one => one.is_kept).map(one => `${one.name} ${text.grouped(one.count)}`).join(', ');
  const picture = svg('svg', {role: 'img', 'aria-label': `Funnel: ${kept}.`});
  host.append(html('ul', {class: 'legend'}, html('li', {}, html('i', {style: 'background: var(--c0)'}), 'what is kept'),
                   html('li', {}, html('i', {style: 'background: var(--c1)'}), 'what is dropped, and why'), html('li', {}, 'lengths are logarithmic')),
              html('div', {class: 'bars'}, picture));
  redrawn(() => {
    const width = Math.max(280, Math.floor(host.clientWidth));
    const [left, line] = [112, 24];
    const room = width - left - 110;
    set_all(picture, {viewBox: `0 0 ${width} ${steps.length * line + 4}`});
    picture.replaceChildren(...steps.map((one, i) => {
      const long = Math.max(one.count > 0 ? 2 : 0, room * length(one.count));
      const thick = one.is_kept ? 16 : 9;
      return svg('g', {}, svg('title', {}, `${one.name}: ${text.grouped(one.count)} ${one.note}`),
                 svg('rect', {class: 'hit', x: 0, y: i * line, width, height: line}),
                 svg('text', {class: one.is_kept ? 'strong' : '', x: left - 8, y: i * line + 16, 'text-anchor': 'end'}, one.name),
                 svg('rect', {class: `bar ${one.is_kept ? 'c0' : 'c1'}`, x: left, y: i * line + 12 - thick / 2, width: long.toFixed(1), height: thick}),
                 svg('text', {class: one.is_kept ? 'strong' : '', x: left + long + 7, y: i * line + 16}, text.grouped(one.count)));
    }));
  });
}

/** What is known: the first result, then the points at which the best one changed, and the end. */
function best_curve(progress) {
  const found = progress.seconds.map((time, i) => [time, progress.best[i]]).filter(one => one[1] !== null);
  const changes = found.filter((one, i) => i === 0 || i === found.length - 1 || one[1] !== found[i - 1][1]);
  return progress.first && changes.length > 0 ? [[progress.first.seconds, progress.first.cost], ...changes] : changes;
}
function best_plot(progress, cost, x) {
  const best = best_curve(progress);
  if (best.length === 0) return empty(cost.is_counting ? 'The problem counts nodes and has no cost: here are its nodes over time.' : 'No result was found, so there is no best cost: here are the nodes over time.');
  const show = value => `${text.significant(value, 4)}${cost.unit ? ` ${cost.unit}` : ''}`;
  const [first, last] = [best[0][1], best[best.length - 1][1]];
  const told = first === last ? `The best cost was ${show(last)} from the first result on.` : `The best cost fell from ${show(first)}, the first result, to ${show(last)} at the end.`;
  const tick = value => value < 1e5 ? text.significant(value, 4) : text.count(value);
  const y = {name: `best cost${cost.unit ? ` [${cost.unit}]` : ''}`, show: tick, log: last > 0 && first > 10 * last};
  return plot({title: 'Best cost', label: told, x, y, series: [{name: 'best cost', points: best, is_step: true}],
               marks: cost.input ? [{y: cost.input, name: `input program, ${show(cost.input)}`}] : []});
}
/** A rate holds from the point before to its own, so it is drawn from there. */
function rate_plot(progress, x) {
  const {seconds, rate, mean_rate} = progress;
  const last = seconds.length - 1;
  const between = seconds.map((time, i) => [time, rate[Math.min(i + 1, last)]]);
  const mean = seconds.map((time, i) => [time, mean_rate[i]]).slice(1);
  return plot({title: 'Nodes per second', label: `${text.count(mean_rate[last])} nodes per second over the whole run.`, x, y: {name: 'nodes per second', show: text.count, from: 0},
               series: [{name: 'mean so far', points: mean}, {name: 'since the point before', points: between, is_step: true, has_dots: false}]});
}
function draw_progress(progress, cost) {
  const host = place('progress-plots');
  const times = progress.seconds;
  if (times.length === 0) return void host.append(empty('The run left no records of progress and has not ended: there is nothing to draw yet.'));
  const last = times.length - 1;
  const x = {name: 'time', show: text.seconds, log: times[last] > 100 * times[1]};
  if (!x.log) x.from = 0;
  host.append(best_plot(progress, cost, x),
              plot({title: 'Nodes', label: `${text.count(progress.nodes[last])} nodes after ${text.seconds(times[last])}.`, x, y: {name: 'nodes', show: text.count, from: 0},
                    series: [{name: 'nodes', points: times.map((time, i) => [time, progress.nodes[i]])}]}),
              rate_plot(progress, x));
  if (progress.first && !progress.first.is_stamped) host.append(...notes(['Results carry no time of their own: the curve of the best cost begins with the first one, drawn at the last point without any, and falls where a better one was known.']));
  const rate_column = name => ({name, number: true, show: text.count});
  host.append(alternative('Points of the curves', [seconds_column('time'), count_column('nodes'), rate_column('nodes/s since the point before'), rate_column('nodes/s mean so far'),
    {name: 'best', number: true, show: value => text.significant(value, 6)}, count_column('results'), count_column('queued'), count_column('idle threads')],
    times.map((time, i) => [time, ...['nodes', 'rate', 'mean_rate', 'best', 'results', 'queued', 'idle'].map(name => progress[name][i])])));
}

/** A row is [depth, name, efficiency, time lost as a share]; null: not known. */
function tree(title, meaning, rows, capacity) {
  const body = rows.filter(one => one[2] !== null).map(([depth, name, value, lost]) => html('tr', {class: depth === 0 ? 'top' : null},
    html('th', {scope: 'row', style: `padding-left: ${0.4 + 1.1 * depth}rem`}, name),
    html('td', {}, html('span', {class: 'meter', 'aria-hidden': 'true'},
                        html('i', {class: level(value), style: `width: ${(100 * Math.max(0, Math.min(1, value))).toFixed(2)}%`}))),
    html('td', {class: 'number'}, text.percent(value)),
    html('td', {class: 'number'}, lost === null ? '' : text.seconds(Math.max(0, lost * capacity)))));
  const head = [html('span', {class: 'unseen'}, 'metric'), html('span', {class: 'unseen'}, 'bar'), 'efficiency', 'time lost'];
  return html('div', {}, html('h3', {}, title), html('p', {class: 'note'}, meaning), html('div', {class: 'wide'}, html('table', {class: 'tree'},
    html('thead', {}, html('tr', {}, head.map((name, i) => html('th', {scope: 'col', class: i > 1 ? 'number' : null}, name)))), html('tbody', {}, body))));
}
function draw_efficiency(trace) {
  const host = place('efficiency-trees');
  const e = trace.efficiency;
  const capacity = trace.runtime * trace.threads;
  const top = [0, 'Parallel efficiency', e.parallel, 1 - e.parallel];
  const product = 'Each is the product of those below it.';
  if (!trace.has_cores) host.append(html('p', {class: 'note'}, trace.verdict));
  host.append(html('div', {class: 'trees'},
    tree('All threads', product, [top, [1, 'Load balance', e.load_balance, e.communication - e.parallel], [1, 'Communication', e.communication, 1 - e.communication],
      [2, 'Serialisation', e.serialisation, e.transfer - e.communication], [2, 'Transfer', e.transfer, 1 - e.transfer]], capacity),
    tree('MPI × OpenMP', product, [top, [1, 'MPI', e.mpi, 1 - e.mpi], [2, 'Load balance', e.mpi_load_balance, e.mpi_communication - e.mpi],
      [2, 'Communication', e.mpi_communication, 1 - e.mpi_communication], [1, 'OpenMP', e.openmp, e.mpi - e.parallel],
      [2, 'Load balance', e.openmp_load_balance, null], [2, 'Communication', e.openmp_communication, null]], capacity),
    tree('As a sum', 'What each loses is the sum of what those below it lose.', [top, [1, 'Process', e.process, 1 - e.process],
      [2, 'Load balance', e.process_load_balance, 1 - e.process_load_balance], [2, 'Communication', e.process_communication, 1 - e.process_communication],
      [1, 'Thread', e.thread, 1 - e.thread], [2, 'OpenMP region', e.openmp_region, 1 - e.openmp_region], [2, 'Serial region', e.serial_region, 1 - e.serial_region]], capacity)),
    html('p', {class: 'note'}, `POP’s metrics. Time lost is summed over all threads, which had ${text.seconds(capacity)} together. While they were busy they had a core ${text.percent(trace.efficiency.core_share)} of the time (core share).`), ...notes(trace.remarks));
}

/** Phases as `espalier trace RUN --by phase` has them. The first column sorts by their order, which brings the levels back. */
function phases_table(trace) {
  const name = i => {
    const {name, level, of} = trace.where[i];
    const more = of === 'sample' ? ' (sampled)' : of === 'communicating thread' ? ' (communicating thread)' : name === 'query' ? ' (Z3)' : '';
    return html('span', {'data-level': level, style: `padding-left: ${1.2 * level}rem`}, name, more);
  };
  return table('Seconds per thread', [{name: 'phase', show: name}, percent_column('of runtime'), seconds_column('min'), seconds_column('mean'), seconds_column('max'), {name: 'longest on'}, {name: 'samples', number: true, show: value => value > 0 ? text.grouped(value) : ''}],
    trace.where.map((one, i) => [i, one.share, one.min, one.mean, one.max, one.max_rank, one.samples]));
}
function draw_where(trace) {
  const host = place('where-tables');
  const useful = trace.useful / Math.max(1, trace.threads);
  host.append(phases_table(trace), html('p', {class: 'note'}, 'An indented line is part of the line above it. Sampled: what became of the nodes is measured on some of them, by the CPU time of the thread, and the measured time is divided in that proportion.',
    trace.where.some(one => one.of === 'sum') ? ' “expand and query” are the two lines above it together.' : '', ` Of all this ${text.seconds(useful)} per thread were useful: CPU time on nodes.`));
  const columns = [count_column('rank'), {name: 'host'}, count_column('threads'), ...['useful', 'expand', 'query', 'verify', 'wait', 'other', 'sending', 'receiving', 'writing'].map(seconds_column), count_column('chunks'), count_column('nodes')];
  host.append(html('details', {}, html('summary', {}, `All ranks (${text.grouped(trace.ranks.length)})`), trace.left_out_ranks > 0 ? html('p', {class: 'note'}, `${text.plural(trace.left_out_ranks, 'more rank')} left out: espalier trace RUN --by rank --top 0 has all.`) : null,
                   table('One line per rank', columns, trace.ranks, {is_long: trace.ranks.length > 16})));
}

function draw_subtrees(trace) {
  const host = place('subtrees-table');
  if (trace.longest.length === 0) return void host.append(empty('The trace holds no chunks, so there are no subtrees.'));
  host.append(table('What one thread worked on without handing it over', [count_column('rank'), count_column('thread'), seconds_column('start'), seconds_column('end'), seconds_column('useful'), count_column('chunks'), count_column('nodes'), count_column('depth')], trace.longest));
}

function draw_sizes(trace) {
  const host = place('sizes-plots');
  const sizes = trace.sizes.filter(one => one[1] > 0);
  if (sizes.length === 0) return void host.append(empty('The trace holds no chunks, so there are no sizes.'));
  const x = {name: 'useful time of a subtree, from', show: value => text.seconds(value * 1e-6), log: true};
  const largest = sizes[sizes.length - 1];
  const at = one => Math.max(one[0], 0.5);
  host.append(plot({title: 'Number of subtrees', label: `Subtrees by size; the largest class begins at ${x.show(at(largest))} and holds ${text.grouped(largest[1])}.`, x,
                    y: {name: 'subtrees', show: text.count, log: true}, series: [{name: 'subtrees', points: sizes.map(one => [at(one), one[1]])}]}),
              plot({title: 'Time in them', label: 'Useful time of all subtrees of a size.', x, y: {name: 'useful time', show: text.seconds, log: true},
                    series: [{name: 'useful time', points: sizes.map(one => [at(one), one[2]])}]}),
              html('p', {class: 'note all'}, 'Whole subtrees, wherever they were searched; a subtree within another counts again.'),
              alternative('Subtrees by size', [{name: 'from', number: true, show: x.show}, count_column('subtrees'), seconds_column('useful')], sizes));
}

function draw_scaling(scaling, why) {
  const host = place('scaling-plots');
  if (!scaling || scaling.predictions.length === 0) return void host.append(empty(why || 'There is no prediction.'));
  const policies = Array.from(new Set(scaling.predictions.map(one => one.policy)));
  const of = policy => scaling.predictions.filter(one => one.policy === policy);
  const nodes = Array.from(new Set(scaling.predictions.map(one => one.nodes))).sort((a, b) => a - b);
  const marks = scaling.limits.filter(one => one.nodes > 0 && one.nodes <= nodes[nodes.length - 1]).map(one => ({x: one.nodes, name: `knee${policies.length > 1 ? ` (${one.policy})` : ''}: ${one.nodes}`}));
  const x = {name: 'nodes', show: text.count, log: true, ticks: nodes};
  const first = of(policies[0])[0];
  const series = key => policies.map(policy => ({name: policy, points: of(policy).map(one => [one.nodes, one[key]])}));
  const ideal = {name: 'ideal', class: 'ideal', has_dots: false, points: nodes.map(one => [one, first.makespan * first.nodes / one])};
  const floor = scaling.critical_path > 0 ? [{y: scaling.critical_path, name: `longest chain, ${text.seconds(scaling.critical_path)}`}] : [];
  const last = of(policies[0])[of(policies[0]).length - 1];
  const target = `${text.significant(100 * scaling.target_efficiency)} % efficiency`;
  const advice = one => (policies.length > 1 ? `${one.policy}: ` : '') + (one.recommended_nodes
    ? `use up to ${text.plural(one.recommended_nodes, 'node')}, the most at or above ${target}: ${text.seconds(one.recommended_makespan)}, ${text.significant(one.recommended_node_hours)} node-hours.`
    : `no listed number of nodes reaches ${target}.`);
  host.append(plot({title: 'Time', label: `On ${last.nodes} nodes the run would take ${text.seconds(last.makespan)}.`, x, y: {name: 'time', show: text.seconds, log: true}, series: [...series('makespan'), ideal], marks: [...marks, ...floor]}),
              plot({title: 'Efficiency', label: `On ${last.nodes} nodes the efficiency would be ${text.percent(last.efficiency)}.`, x, y: {name: 'efficiency', show: value => `${Math.round(100 * value)} %`, from: 0, to: 1},
                    series: [...series('efficiency'), {name: 'ideal', class: 'ideal', has_dots: false, points: nodes.map(one => [one, 1])}], marks}),
              html('p', {class: 'note all'}, `${text.plural(scaling.chunks, 'measured chunk')} with ${text.seconds(scaling.work_seconds)} of work${scaling.work === 1 ? '' : ` (${text.significant(scaling.work)} times the measured)`}, replayed through the same scheduler in virtual time. The knee is where more nodes gain less than a tenth of what they cost.`),
              ...scaling.limits.map(one => html('p', {class: 'all advice'}, advice(one).replace(/^./, letter => letter.toUpperCase()))),
              ...notes(scaling.remarks),
              alternative('Predictions', [count_column('nodes'), count_column('threads'), {name: 'policy'}, seconds_column('time'), percent_column('efficiency'), {name: 'speed-up', number: true, show: value => text.significant(value)}, percent_column('master load'), count_column('messages')],
                scaling.predictions.map(one => [one.nodes, one.threads, one.policy, one.makespan, one.efficiency, one.speedup, one.master_load, one.messages])));
}

function draw_solver(trace) {
  const host = place('solver-plots');
  const rows = trace.contention.filter(one => one[1] > 0);
  if (rows.length === 0) return void host.append(empty('The run asked the solver nothing while it was traced.'));
  const queries = rows.reduce((all, one) => all + one[1], 0);
  const time = rows.reduce((all, one) => all + one[2], 0);
  const cpu = rows.reduce((all, one) => all + one[3], 0);
  const ms = value => `${text.significant(value)} ms`;
  host.append(html('p', {class: 'all'}, `${text.grouped(queries)} queries took ${text.seconds(time)}, ${text.percent(time / (trace.runtime * trace.threads))} of the threads’ time; the solver itself used ${text.seconds(cpu)} of CPU.`));
  if (rows.length > 1) host.append(plot({title: 'Mean time of a query', label: 'Mean time of a query by the number of threads of a rank that were in one.', x: {name: 'threads of the rank in a query', show: text.count, ticks: rows.map(one => one[0]).slice(0, 16)},
    y: {name: 'ms', show: value => text.significant(value), from: 0}, series: [{name: 'wall', points: rows.map(one => [one[0], 1e3 * one[2] / one[1]])}, {name: 'CPU', points: rows.map(one => [one[0], 1e3 * one[3] / one[1]])}]}));
  host.append(html('div', {class: rows.length > 1 ? '' : 'all'}, table('Queries by how many threads of the rank were in one', [count_column('threads'), count_column('queries'), seconds_column('in queries'), {name: 'mean', number: true, show: ms}, {name: 'mean CPU', number: true, show: ms}],
    rows.map(one => [one[0], one[1], one[2], 1e3 * one[2] / one[1], 1e3 * one[3] / one[1]]))));
}
