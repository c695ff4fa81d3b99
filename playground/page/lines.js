/** Where the lines of a text begin; nothing is copied, so that a long text can have them too. */
export class Lines {
  #starts;

  /** @param {string} text */
  constructor(text) {
    this.text = text;
    const starts = [0];
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
    this.#starts = starts;
  }

  get count() {
    return this.#starts.length;
  }

  /** The place of a line, counted from 1, without its line end. @param {number} line */
  range(line) {
    const at = Math.min(Math.max(line, 1), this.count);
    const end = at < this.count ? this.#starts[at] - 1 : this.text.length;
    return [this.#starts[at - 1], end];
  }

  /** @param {number} line */
  at(line) {
    return this.text.slice(...this.range(line));
  }
}
