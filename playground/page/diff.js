// A unified diff of two texts that differ in few lines.

/** More differing lines than this are shown as one block taken out and one put in. */
const MOST = 2000;

/**
 * @typedef {{sign: " " | "-" | "+", text: string}} Line
 * @typedef {{header: string, lines: Line[]}} Hunk
 */

/**
 * @param {string} before
 * @param {string} after
 * @returns {{hunks: Hunk[], removed: number, added: number}}
 */
export function unified(before, after, context = 3) {
  if (before === after) return { hunks: [], removed: 0, added: 0 };
  const [old, now] = [before.split("\n"), after.split("\n")];
  // What a final line end leaves behind is no line; where only one text has it, the two last lines differ.
  if (old.at(-1) === "" && now.at(-1) === "") {
    old.pop();
    now.pop();
  }
  const changes = differences(old, now);
  const count = (of) => changes.reduce((sum, change) => sum + change[of][1] - change[of][0], 0);
  return { hunks: hunks(old, now, changes, context), removed: count("old"), added: count("now") };
}

/** The differing ranges, `{old: [from, to], now: [from, to]}`, in order. */
function differences(old, now) {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let [oldEnd, nowEnd] = [old.length, now.length];
  while (oldEnd > start && nowEnd > start && old[oldEnd - 1] === now[nowEnd - 1]) {
    oldEnd -= 1;
    nowEnd -= 1;
  }
  return myers(old, now, start, oldEnd, nowEnd) ?? [{ old: [start, oldEnd], now: [start, nowEnd] }];
}

/** Myers' shortest edit script of the part that differs; nothing where it is longer than MOST. */
function myers(old, now, start, oldEnd, nowEnd) {
  const [width, height] = [oldEnd - start, nowEnd - start];
  const most = Math.min(width + height, MOST);
  const far = new Int32Array(2 * most + 3);
  const middle = most + 1;
  const trace = [];
  for (let edits = 0; edits <= most; edits += 1) {
    trace.push(far.slice(middle - edits - 1, middle + edits + 2));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && far[middle + k - 1] < far[middle + k + 1]);
      let x = down ? far[middle + k + 1] : far[middle + k - 1] + 1;
      let y = x - k;
      while (x < width && y < height && old[start + x] === now[start + y]) {
        x += 1;
        y += 1;
      }
      far[middle + k] = x;
      if (x >= width && y >= height) return walkBack(trace, width, height, start);
    }
  }
  return null;
}

function walkBack(trace, width, height, start) {
  const changes = [];
  let [x, y] = [width, height];
  for (let edits = trace.length - 1; edits > 0; edits -= 1) {
    const far = trace[edits];
    const at = (k) => far[k + edits + 1];
    const k = x - y;
    const down = k === -edits || (k !== edits && at(k - 1) < at(k + 1));
    const from = down ? k + 1 : k - 1;
    const [oldX, oldY] = [at(from), at(from) - from];
    const change = down
      ? { old: [start + oldX, start + oldX], now: [start + oldY, start + oldY + 1] }
      : { old: [start + oldX, start + oldX + 1], now: [start + oldY, start + oldY] };
    const next = changes.at(-1);
    // A step that ends where the next one begins is a part of it.
    if (next && next.old[0] === change.old[1] && next.now[0] === change.now[1]) {
      next.old[0] = change.old[0];
      next.now[0] = change.now[0];
    } else {
      changes.push(change);
    }
    [x, y] = [oldX, oldY];
  }
  return changes.reverse();
}

function hunks(old, now, changes, context) {
  const groups = [];
  for (const change of changes) {
    const group = groups.at(-1);
    if (group && change.old[0] - group.at(-1).old[1] <= 2 * context) group.push(change);
    else groups.push([change]);
  }
  return groups.map((group) => hunk(old, now, group, context));
}

function hunk(old, now, group, context) {
  const from = Math.max(0, group[0].old[0] - context);
  const fromNow = group[0].now[0] - (group[0].old[0] - from);
  const to = Math.min(old.length, group.at(-1).old[1] + context);
  const toNow = group.at(-1).now[1] + (to - group.at(-1).old[1]);
  const lines = [];
  const put = (sign, texts) => texts.forEach((text) => lines.push({ sign, text }));
  let at = from;
  for (const change of group) {
    put(" ", old.slice(at, change.old[0]));
    put("-", old.slice(...change.old));
    put("+", now.slice(...change.now));
    at = change.old[1];
  }
  put(" ", old.slice(at, to));
  return { header: `@@ -${range(from, to)} +${range(fromNow, toNow)} @@`, lines };
}

function range(from, to) {
  const length = to - from;
  // As diff writes it: a range of no lines is named by the line before it.
  return length === 1 ? `${from + 1}` : `${length === 0 ? from : from + 1},${length}`;
}
