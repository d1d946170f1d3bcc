// Formats and parses dates, durations and times of day, given in nanoseconds.
//
// The same as in stagewise.data.reading, with integers of any size (BigInt); tests compare both.

const SECOND = 1000000000n;
const [MINUTE, HOUR, DAY] = [60n * SECOND, 3600n * SECOND, 86400n * SECOND];
const [FIRST, LAST] = [-(2n ** 63n), 2n ** 63n - 1n];

// Text is rounded to the largest unit of which a range has at least this many.
const PARTS = 200;
const GRAINS = [DAY, HOUR, MINUTE, SECOND, 1000000n, 1000n, 1n];

// Distances between ticks; longer ones in days and months.
const DIGITS = [1n, 2n, 5n];
const decades = (...powers) => powers.flatMap((power) => DIGITS.map((digit) => digit * 10n ** BigInt(power)));
const STEPS = [
  ...decades(0, 1, 2, 3, 4, 5, 6, 7, 8),
  ...[1n, 2n, 5n, 10n, 15n, 30n].map((count) => count * SECOND),
  ...[1n, 2n, 5n, 10n, 15n, 30n].map((count) => count * MINUTE),
  ...[1n, 2n, 3n, 6n, 12n].map((count) => count * HOUR),
  ...[1n, 2n, 7n, 14n].map((count) => count * DAY),
];
const DAYS = decades(1, 2, 3, 4, 5);
const MONTHS = [1n, 2n, 3n, 6n, ...decades(0, 1, 2).map((years) => 12n * years)].map(Number);

const CLOCK = String.raw`(?<hour>\d+):(?<minute>[0-5]\d)(?::(?<second>[0-5]\d)(?:\.(?<part>\d{1,9}))?)?`;
const FORMS = {
  date: [String.raw`(?<day>\d{4}-\d\d-\d\d)(?:[T ]${CLOCK}(?<zone>Z|[+-]\d\d:?[0-5]\d)?)?`, "2024-03-01 or 2024-03-01 14:05:00"],
  duration: [String.raw`(?<sign>-?)(?=.)(?:(?<days>\d+) ?d)?(?: ?${CLOCK})?`, "3 d 04:00:00 or 76:00:00"],
  "time of day": [CLOCK, "14:05 or 14:05:00"],
};

function floorDivided(a, b) {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}

class Datetimes {
  // A temporalType as people write it. x: a number, a BigInt, or a text of digits; NaN and null are
  // missing. within: the range of the values around it, which determines the rounding.
  static format(x, temporalType, within = 0) {
    if (x === null || x !== x) return "missing";
    if (typeof x === "number" && !Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
    const number = BigInt(typeof x === "number" ? Math.floor(x) : x);
    if (number < FIRST || number > LAST) return number > 0n ? "inf" : "-inf";
    const grain = GRAINS.find((size) => PARTS * Number(size) <= within) ?? 1n;
    const whole = floorDivided(number + grain / 2n, grain) * grain;
    if (temporalType === "date") {
      const days = floorDivided(whole, DAY), rest = whole - days * DAY;
      const day = new Date(Number(days) * 86400000).toISOString().slice(0, 10);
      return rest ? `${day} ${clock(rest)}` : day;
    }
    const size = whole < 0n ? -whole : whole, sign = whole < 0n ? "-" : "";
    const days = size / DAY, rest = size % DAY;
    if (temporalType === "time of day" || !days) return sign + clock(size);
    return rest ? `${sign}${days} d ${clock(rest)}` : `${sign}${days} d`;
  }

  // The same with about this many significant digits; a date in full.
  static formatShort(x, temporalType, digits) {
    return Datetimes.format(x, temporalType, temporalType === "date" ? 0 : (Math.abs(Number(x)) * PARTS) / 10 ** digits);
  }

  // Parse text to nanoseconds as BigInt; null if it is invalid.
  static parse(text, temporalType) {
    const found = new RegExp(`^(?:${FORMS[temporalType][0]})$`).exec(String(text).trim());
    const number = found && nanosecondsOf(found.groups, temporalType);
    return number === null || number < FIRST || number > LAST ? null : number;
  }

  // An example of the format.
  static example(temporalType) {
    return FORMS[temporalType][1];
  }

  // Round values for an axis, at most about this many.
  static ticks(least, most, temporalType, about = 5) {
    const [low, high] = [Math.max(least, -(2 ** 63)), Math.min(most, 2 ** 63 - 1024)];
    if (!(low < high)) return [];
    const rough = (high - low) / about, reaches = (size) => Number(size) >= rough;
    const [first, last] = [BigInt(Math.ceil(low)), BigInt(Math.floor(high))];
    let step = STEPS.find(reaches);
    if (step === undefined && temporalType === "date") {
      return firsts(first, last, MONTHS.find((count) => reaches(BigInt(count) * 30n * DAY)));
    }
    step ??= DAYS.map((count) => count * DAY).find(reaches);
    const found = [];
    for (let t = -floorDivided(-first, step) * step; t <= last; t += step) found.push(Number(t));
    return found;
  }
}

function clock(nanoseconds) {
  const seconds = Number(nanoseconds / SECOND), part = nanoseconds % SECOND;
  const two = (x) => String(x).padStart(2, "0");
  const text = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return part ? `${text}.${String(part).padStart(9, "0").replace(/0+$/, "")}` : text;
}

function nanosecondsOf({ hour, minute, second, part, days, sign, day, zone }, temporalType) {
  const of = (digits) => BigInt(digits ?? 0);
  const time = of(hour) * HOUR + of(minute) * MINUTE + of(second) * SECOND + of((part ?? "").padEnd(9, "0"));
  if (temporalType === "duration") return (time + of(days) * DAY) * (sign ? -1n : 1n);
  if (of(hour) > 23n) return null;
  if (temporalType === "time of day") return time;
  const since = Date.parse(`${day}T00:00:00Z`);
  // Date.parse moves an invalid day to the next month.
  if (Number.isNaN(since) || new Date(since).toISOString().slice(0, 10) !== day) return null;
  const ahead = zone && zone !== "Z" ? of(zone.slice(1, 3)) * HOUR + of(zone.slice(-2)) * MINUTE : 0n;
  return BigInt(since) * 1000000n + time - (zone?.startsWith("-") ? -ahead : ahead);
}

// The first days of every n-th month, counted from the year 0.
function firsts(least, most, months) {
  const begin = new Date(Number(floorDivided(least, DAY)) * 86400000), found = [];
  let number = Math.ceil((begin.getUTCFullYear() * 12 + begin.getUTCMonth()) / months) * months;
  for (; ; number += months) {
    const first = BigInt(Date.UTC(Math.floor(number / 12), number % 12, 1)) * 1000000n;
    if (first > most) return found;
    if (first >= least) found.push(Number(first));
  }
}
