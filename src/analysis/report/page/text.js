// Numbers for people, in the words that the command line uses.
const text = {
  significant(value, digits = 3) {
    if (value === 0) return '0';
    const size = Math.abs(value);
    if (size >= 1e9 || size < 1e-4) return value.toExponential(digits - 1).replace('e+', 'e');
    const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    const [whole, fraction = ''] = value.toFixed(Math.min(decimals, 12)).split('.');
    const rest = fraction.replace(/0+$/, '');
    return text.thousands(whole) + (rest ? `.${rest}` : '');
  },
  thousands(digits) { return digits.replace(/\B(?=(\d{3})+$)/g, ','); },
  grouped(value) { return text.thousands(String(Math.round(value))); },
  count(value) {
    if (value < 1e4) return text.significant(value, 4);
    const [unit, name] = value < 1e6 ? [1e3, 'k'] : value < 1e9 ? [1e6, 'M'] : value < 1e12 ? [1e9, 'G'] : [1e12, 'T'];
    return `${text.significant(value / unit)} ${name}`;
  },
  seconds(value) {
    if (value === 0) return '0 s';
    const size = Math.abs(value);
    if (size < 1e-3) return `${text.significant(value * 1e6)} µs`;
    if (size < 1) return `${text.significant(value * 1e3)} ms`;
    if (size < 120) return `${text.significant(value)} s`;
    if (size < 7200) return `${text.significant(value / 60)} min`;
    return `${text.significant(value / 3600)} h`;
  },
  percent(share) { return `${(100 * share).toFixed(1)} %`; },
  plural(number, word) { return `${text.grouped(number)} ${word}${number === 1 ? '' : 's'}`; },
  ranks(first, last) { return first === last ? `rank ${first}` : `ranks ${first}–${last}`; },
};
