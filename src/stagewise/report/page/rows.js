// Encodes rows: values as codes, followed by feature crosses and target-encoded columns.
//
// A code is the same number as in Python: a number, the nanoseconds of a date or time, the index of a
// category, the number of cuts below an integer that is too wide for a double, or NaN for missing.

class Rows {
  // facts: of the payload. arrays: the packed arrays, with target encodings if all trees are included.
  constructor(features, facts, arrays) {
    this.features = features;
    this.facts = facts;
    this.missing = facts.missingValues.map(numberOf);
    this.encodings = arrays.encodedValues === undefined ? [] : this.#readEncodings(arrays);
    this.row = new Float64Array(this.features.length + facts.derived.length);
  }

  // ---- typed values -----------------------------------------------------------------------------

  encode(j, text) {
    const { name, kind, categories, temporalType } = this.features[j], typed = String(text).trim();
    // The exact text first: categories may differ only in surrounding spaces.
    if (categories?.includes(String(text))) return { code: categories.indexOf(String(text)) };
    if (categories?.includes(typed)) return { code: categories.indexOf(typed) };
    const number = (temporalType && Datetimes.parse(typed, temporalType)) ?? numberOf(typed);
    const stands = number !== null && this.missing.includes(number);
    if (stands || /^(|missing|nan)$/i.test(typed)) return { code: NaN };
    if (categories !== null) return this.#encodeCategory(name, categories, typed, number);
    if (number === null && temporalType) {
      return { error: `${name} must be a ${temporalType}; got “${typed}”. Type one such as ${Datetimes.example(temporalType)}, or “missing”.` };
    }
    if (/^(true|false)$/i.test(typed)) return { code: /^true$/i.test(typed) ? 1 : 0 };
    if (number === null) {
      return { error: `${name} must be a number; got “${typed}”. Type a number, or “missing”.` };
    }
    return { code: kind === "integer" ? this.#rank(j, number) : notBelow(number) };
  }

  #encodeCategory(name, categories, typed, number) {
    const same = number === null ? [] : categories.filter((category) => numberOf(category) === number);
    if (same.length === 1) return { code: categories.indexOf(same[0]) };
    if (this.facts.handleUnknown === "prior") return { code: categories.length };
    const some = categories.slice(0, 5).join(", ") + (categories.length > 5 ? ", …" : "");
    const remedy = `Use one of its categories (${some}), or “missing”.`;
    return { error: `“${typed}” is not a category of ${name}. ${remedy}` };
  }

  // The number of cuts below a number.
  #rank(j, number) {
    const { cuts } = this.features[j], rank = cuts.findIndex((cut) => BigInt(cut) >= number);
    return rank < 0 ? cuts.length : rank;
  }

  // ---- target encodings -------------------------------------------------------------------------

  #readEncodings({ keys, encodedValues }) {
    let key = 0, value = 0;
    return this.facts.targetEncodings.map(({ sources, categories, keys: n, outputs }) => {
      const places = categories.map((count) => count + 2);
      const wide = places.reduce((product, count) => product * count, 1) > Number.MAX_SAFE_INTEGER;
      const own = keys.subarray(key, (key += n));
      const known = sources.length === 1 ? places[0] : n;
      const values = encodedValues.subarray(value, (value += outputs * (known + 1)));
      const held = wide ? own : Float64Array.from(own, Number);
      return { sources, places, outputs, known, wide, values, keys: held };
    });
  }

  // The row followed by its crosses and its target-encoded columns; the next call reuses the array.
  extended(codes) {
    const { row, features, facts } = this;
    if (codes.length !== features.length) {
      throw new Error(`A row has ${features.length} codes, not ${codes.length}.`);
    }
    if (this.encodings.length < facts.targetEncodings.length) {
      throw new Error("The target encodings are not on this page, because it contains only some of the trees.");
    }
    row.set(codes);
    let column = codes.length;
    for (const { operation, sources } of facts.crosses) {
      const value = CROSSES[operation](codes[sources[0]], codes[sources[1]]);
      row[column++] = Number.isFinite(value) ? value : NaN;
    }
    for (const encoding of this.encodings) {
      const number = keyNumber(encoding, codes);
      for (let k = 0; k < encoding.outputs; k++) {
        row[column++] = encoding.values[k * (encoding.known + 1) + number];
      }
    }
    return row;
  }
}

// The operations of feature crosses; a result that is not finite is missing.
const CROSSES = {
  difference: (a, b) => a - b,
  ratio: (a, b) => a / b,
  product: (a, b) => a * b,
};

// The index of a row's key: for one source the category; for several the index among the known keys, or
// the number of known keys if it is unknown.
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

// Parses a number: integers as BigInt, others as double; null if the text is not a number.
function numberOf(text) {
  const infinite = /^([+-]?)inf(inity)?$/i.exec(text);
  if (infinite) return infinite[1] === "-" ? -Infinity : Infinity;
  if (/^[+-]?\d+$/.test(text)) return BigInt(text.replace("+", ""));
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return null;
  const number = Number(text);
  return Number.isInteger(number) ? BigInt(number) : number;
}

// The smallest double that is not below an integer, so that it stays on its side of any threshold.
function notBelow(number) {
  const nearest = Number(number);
  if (typeof number !== "bigint" || !Number.isFinite(nearest)) return nearest;
  if (BigInt(nearest) >= number) return nearest;
  const bits = new BigInt64Array(new Float64Array([nearest]).buffer);
  bits[0] += nearest > 0 ? 1n : -1n;
  return new Float64Array(bits.buffer)[0];
}
