// Decompresses gzip (RFC 1951, 1952) in one call. The DecompressionStream of browsers is
// asynchronous, and the page must be complete when it has loaded, for screenshots and printing.

const inflate = (() => {
  // Lengths of matches and distances: each symbol has a least value and a number of further bits.
  const LENGTHS = valuesOf([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5], 3);
  const DISTANCES = valuesOf(Array.from({ length: 30 }, (_, k) => Math.max(0, (k >> 1) - 1)), 1);
  LENGTHS.least.push(258);
  LENGTHS.extra.push(0);
  // The order in which the code lengths of code lengths are stored.
  const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

  function valuesOf(extra, first) {
    let next = first;
    return { extra, least: extra.map((bits) => {
      const own = next;
      next += 1 << bits;
      return own;
    }) };
  }

  /** The table of a canonical Huffman code: at the next bits of the input, symbol × 16 + code length. */
  function huffman(lengths) {
    const most = Math.max(1, ...lengths);
    const table = new Uint16Array(1 << most);
    let code = 0;
    for (let length = 1; length <= most; length++, code <<= 1) {
      for (let symbol = 0; symbol < lengths.length; symbol++) {
        if (lengths[symbol] !== length) continue;
        let turned = 0; // codes are stored with the first bit first
        for (let b = 0; b < length; b++) turned |= ((code >> b) & 1) << (length - 1 - b);
        for (let k = turned; k < table.length; k += 1 << length) table[k] = (symbol << 4) | length;
        code++;
      }
    }
    return { table, mask: table.length - 1 };
  }

  const FIXED = [
    huffman(Array.from({ length: 288 }, (_, k) => (k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8))),
    huffman(new Array(30).fill(5)),
  ];

  class Input {
    constructor(bytes) {
      this.bytes = bytes;
      this.at = 10; // after the header
      this.held = 0; // the number of bits in `bits`
      this.bits = 0;
    }

    fill(count) {
      for (; this.held < count; this.held += 8) this.bits |= this.bytes[this.at++] << this.held;
    }

    take(count) {
      this.fill(count);
      const found = this.bits & ((1 << count) - 1);
      this.bits >>>= count;
      this.held -= count;
      return found;
    }

    symbol({ table, mask }) {
      this.fill(15);
      const entry = table[this.bits & mask];
      // A code reads at most three bytes ahead of the checksum.
      if (!entry || this.at > this.bytes.length) throw new Error("The packed model is damaged.");
      this.bits >>>= entry & 15;
      this.held -= entry & 15;
      return entry >> 4;
    }

    /** Start at the next whole byte. */
    align() {
      this.at -= this.held >> 3;
      this.held = this.bits = 0;
    }
  }

  /** The codes of a block that has its own. */
  function ownCodes(input) {
    const [n, m, k] = [input.take(5) + 257, input.take(5) + 1, input.take(4) + 4];
    const short = new Array(19).fill(0);
    for (let i = 0; i < k; i++) short[ORDER[i]] = input.take(3);
    const code = huffman(short);
    const lengths = [];
    while (lengths.length < n + m) {
      const symbol = input.symbol(code);
      const [value, times] = symbol < 16 ? [symbol, 1] : symbol === 16 ? [lengths[lengths.length - 1], 3 + input.take(2)]
        : [0, symbol === 17 ? 3 + input.take(3) : 11 + input.take(7)];
      for (let t = 0; t < times; t++) lengths.push(value);
    }
    return [huffman(lengths.slice(0, n)), huffman(lengths.slice(n))];
  }

  return (bytes) => {
    const n = bytes.length;
    if (bytes[0] !== 31 || bytes[1] !== 139 || bytes[2] !== 8 || bytes[3] !== 0) throw new Error("The packed model is damaged.");
    const out = new Uint8Array((bytes[n - 4] | (bytes[n - 3] << 8) | (bytes[n - 2] << 16) | (bytes[n - 1] << 24)) >>> 0);
    const input = new Input(bytes);
    let written = 0;
    for (let last = 0; !last;) {
      last = input.take(1);
      const kind = input.take(2);
      if (kind === 0) {
        input.align();
        const size = bytes[input.at] | (bytes[input.at + 1] << 8);
        out.set(bytes.subarray(input.at + 4, input.at + 4 + size), written);
        input.at += 4 + size;
        written += size;
        continue;
      }
      const [literals, distances] = kind === 1 ? FIXED : ownCodes(input);
      for (let symbol = input.symbol(literals); symbol !== 256; symbol = input.symbol(literals)) {
        if (symbol < 256) {
          out[written++] = symbol;
          continue;
        }
        const length = LENGTHS.least[symbol - 257] + input.take(LENGTHS.extra[symbol - 257]);
        const far = input.symbol(distances);
        const from = written - DISTANCES.least[far] - input.take(DISTANCES.extra[far]);
        for (let k = 0; k < length; k++) out[written++] = out[from + k]; // it may overlap itself
      }
    }
    if (written !== out.length) throw new Error("The packed model is damaged.");
    return out;
  };
})();
