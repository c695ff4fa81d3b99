// What the page is told of every case: as the command line, and the module that runs in the cluster.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { browser, needed, opens, server, visit } from "./world.mjs";

opens();

test("every case has the report that the command line prints, and the module's answer is the core's", async () => {
  const lines = (await readFile(needed("PLAYGROUND_QUESTIONS"), "utf8")).trim().split("\n").map((line) => JSON.parse(line));
  assert.ok(lines.length > 500, `${lines.length} questions`);
  const { page, close } = await visit(browser, server.origin);
  const messages = await page.evaluate(async (questions) => {
    const { Asker } = await import("./asker.js");
    const told = [];
    let heard;
    const asker = new Asker({
      onanswer: (request, { answer, guests }) => heard({ report: answer.report, guests, calls: answer.calls.length }),
      ontrouble: (request, text) => heard({ trouble: text }),
    });
    for (const question of questions) {
      told.push(await new Promise((resolve) => {
        heard = resolve;
        asker.ask(question);
      }));
    }
    return told;
  }, lines.map(({ question }) => question));
  let guests = 0;
  for (const [at, { question, report }] of lines.entries()) {
    const message = messages[at];
    assert.deepEqual(message.report, JSON.parse(report), JSON.stringify(question));
    assert.equal(message.guests.length, message.calls);
    for (const guest of message.guests) {
      guests += 1;
      assert.ok(guest.same, `${JSON.stringify(guest)} of ${JSON.stringify(question)}`);
    }
  }
  assert.ok(guests > 100, `${guests} answers of the module`);
  await close();
});
