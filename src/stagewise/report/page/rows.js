// Rows as trees see them: cells as codes, and behind them what levels say.
//
// One idea: a code is what Python makes of a cell: a number as it is, a moment as its nanoseconds, the
// number of a level, of an integer that is too wide for a double how many cuts are below it, NaN where
// the cell is missing.
// Must not know trees.

class Rows {
  // facts: of the payload. arrays: what was packed, perhaps with statistics.
  constructor(features, facts, arrays) {
    this.features = features;
    this.facts = facts;
    this.missing = facts.missingValues.map(numberOf);
    this.statistics = arrays.told === undefined ? [] : this.#readStatistics(arrays);
    this.row = new Float64Array(this.features.length + facts.derived.length);
  }

  // ---- what a person typed ----------------------------------------------------------------------

  encode(j, text) {
    const { name, kind, levels, moment } = this.features[j], typed = String(text).trim();
    // As it was typed first: levels may differ in nothing but the spaces around them.
    if (levels?.includes(String(text))) return { code: levels.indexOf(String(text)) };
    if (levels?.includes(typed)) return { code: levels.indexOf(typed) };
    const number = (moment && Moments.number(typed, moment)) ?? numberOf(typed);
    const stands = number !== null && this.missing.includes(number);
    if (stands || /^(|missing|nan)$/i.test(typed)) return { code: NaN };
    if (levels !== null) return this.#encodeLevel(name, levels, typed, number);
    if (number === null && moment) {
      return { error: `${name} is a ${moment}; “${typed}” is none. Type one as ${Moments.example(moment)}, or “missing”.` };
    }
    if (levels === null && /^(true|false)$/i.test(typed)) return { code: /^true$/i.test(typed) ? 1 : 0 };
    if (number === null) {
      return { error: `${name} is a number; “${typed}” is none. Type one, or “missing”.` };
    }
    return { code: kind === "integer" ? this.#rank(j, number) : notBelow(number) };
  }

  #encodeLevel(name, levels, typed, number) {
    const same = number === null ? [] : levels.filter((level) => numberOf(level) === number);
    if (same.length === 1) return { code: levels.indexOf(same[0]) };
    if (this.facts.onUnseen === "prior") return { code: levels.length };
    const some = levels.slice(0, 5).join(", ") + (levels.length > 5 ? ", …" : "");
    const remedy = `Choose one of its levels (${some}), or type “missing”.`;
    return { error: `“${typed}” is no level of ${name}. ${remedy}` };
  }

  // How many cuts are below a number.
  #rank(j, number) {
    const { cuts } = this.features[j], rank = cuts.findIndex((cut) => BigInt(cut) >= number);
    return rank < 0 ? cuts.length : rank;
  }

  // ---- what levels say --------------------------------------------------------------------------

  #readStatistics({ keys, told }) {
    let key = 0, said = 0;
    return this.facts.statistics.map(({ sources, levels, keys: n, outputs }) => {
      const places = levels.map((count) => count + 2);
      const wide = places.reduce((product, count) => product * count, 1) > Number.MAX_SAFE_INTEGER;
      const own = keys.subarray(key, (key += n));
      const known = sources.length === 1 ? places[0] : n;
      const values = told.subarray(said, (said += outputs * (known + 1)));
      const held = wide ? own : Float64Array.from(own, Number);
      return { sources, places, outputs, known, wide, values, keys: held };
    });
  }

  // The row with the columns behind its features; the next call has the same array.
  extended(codes) {
    const { row, features, facts } = this;
    if (codes.length !== features.length) {
      throw new Error(`A row has ${features.length} codes, not ${codes.length}.`);
    }
    if (this.statistics.length < facts.statistics.length) {
      throw new Error("What levels say is not on this page, since only some of the trees are.");
    }
    row.set(codes);
    let column = codes.length;
    for (const statistic of this.statistics) {
      const number = keyNumber(statistic, codes);
      for (let k = 0; k < statistic.outputs; k++) {
        row[column++] = statistic.values[k * (statistic.known + 1) + number];
      }
    }
    return row;
  }
}

// The number of a row's key: of one source its place; of several that among the known keys, or the
// number of these.
function keyNumber({ sources, places, keys, known, wide }, codes) {
  const digit = wide ? BigInt : Number;
  let key = digit(0);
  for (let i = 0; i < sources.length; i++) {
    const x = codes[sources[i]], n = places[i] - 2;
    const place = x !== x ? n + 1 : x >= 0 && x < n ? Math.trunc(x) : n;
    if (sources.length === 1) return place;
    key = key * digit(places[i]) + digit(place);
  }
  let low = 0, high = known;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keys[middle] < key) low = middle + 1;
    else high = middle;
  }
  return low < known && keys[low] === key ? low : known;
}

// The number that a text spells: whole ones as BigInt, others as double; null: it spells none.
function numberOf(text) {
  const infinite = /^([+-]?)inf(inity)?$/i.exec(text);
  if (infinite) return infinite[1] === "-" ? -Infinity : Infinity;
  if (/^[+-]?\d+$/.test(text)) return BigInt(text.replace("+", ""));
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return null;
  const number = Number(text);
  return Number.isInteger(number) ? BigInt(number) : number;
}

// The smallest double that is not below a whole number, so that it keeps its side of any threshold.
function notBelow(number) {
  const nearest = Number(number);
  if (typeof number !== "bigint" || !Number.isFinite(nearest)) return nearest;
  if (BigInt(nearest) >= number) return nearest;
  const bits = new BigInt64Array(new Float64Array([nearest]).buffer);
  bits[0] += nearest > 0 ? 1n : -1n;
  return new Float64Array(bits.buffer)[0];
}
