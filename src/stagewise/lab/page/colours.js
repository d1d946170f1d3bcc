// Colours of the canvas: those of the style sheet, in the theme that is shown.

const NAMES = ["paper", "card", "ink", "soft", "faint", "line", "accent", "other", "third"];

/** The colours of the theme as [red, green, blue], and a table from -1 … 1 to blue … orange. */
class Colours {
  constructor() {
    this.read();
  }

  read() {
    const probe = h("span", { hidden: true });
    document.body.append(probe);
    for (const name of NAMES) {
      probe.style.color = `var(--${name})`;
      this[name] = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
    }
    probe.remove();
    this.table = Uint32Array.from({ length: 257 }, (_, k) => this.pixel(...this.mix(k / 128 - 1)));
  }

  /** The colour of a number from -1 (blue) to 1 (orange). */
  mix(part) {
    const end = part < 0 ? this.accent : this.other;
    const strength = 0.64 * Math.abs(part) ** 0.85;
    return this.card.map((c, i) => c + strength * (end[i] - c));
  }

  pixel(r, g, b) {
    return (255 << 24) | (b << 16) | (g << 8) | r;
  }

  css(name, alpha = 1) {
    return `rgb(${this[name].join(" ")} / ${alpha})`;
  }

  /** The colour of a class. */
  label(label) {
    return label ? "other" : "accent";
  }
}
