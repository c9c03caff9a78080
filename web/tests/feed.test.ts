// A feed that is begun late, and whose connection comes and goes, beside a server that is slow to answer, has at the end what was said last.

import assert from "node:assert/strict";
import { test } from "node:test";
import { feedStore, follow, heard, interrupted, reachBack } from "../src/events/feed";
import { Draw, each } from "./draw";
import { holds, spelled, teller, type Teller } from "./teller";

interface Waiting {
  path: string;
  answer: (body: unknown, status?: number) => void;
}

/** A server that says up to an instant, and answers when it is made to. */
class Server {
  said = 0;
  readonly waiting: Waiting[] = [];
  constructor(readonly from: Teller) {}

  fetch = (path: string): Promise<Response> => new Promise((resolve) => {
    this.waiting.push({ path, answer: (body, status = 200) => resolve(new Response(status === 204 ? null : JSON.stringify(body), { status })) });
  });

  serve({ path, answer }: Waiting): void {
    const asked = new URL(path, "http://server").searchParams;
    const begin = Number(asked.get("from") ?? this.said);
    if (!this.said) return answer(null, 204);
    if (!asked.has("from")) return answer(this.told(begin, begin > 1 ? begin - 1 : undefined));
    const instants = Array.from({ length: Math.max(0, this.said - begin + 1) }, (_, number) => begin + number);
    answer(instants.map((at) => this.told(at, at > begin ? at - 1 : undefined)));
  }

  told = (at: number, since: number | undefined): object => (since === undefined ? this.from.keyframe(at) : this.from.change(since, at));
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 30; turn++) await Promise.resolve();
  await new Promise<void>((resolve) => setImmediate(resolve));
};

function surroundings(server: Server): void {
  const there = globalThis as unknown as Record<string, unknown>;
  there.window = { setTimeout: (draw: () => void) => void queueMicrotask(draw) };
  there.fetch = server.fetch;
}

async function history(draw: Draw, name: string): Promise<void> {
  const from = teller(draw), server = new Server(from), { length } = from.said;
  surroundings(server);
  const begin = 1 + draw.below(Math.min(4, length)); // what is told before is heard by another tab
  let leave = (): void => {};
  let last: number | undefined; // that was told on the connection, or before it was cut
  let open = false;
  const tell = (kind: string, told: object): void => heard(kind, { query: name, ...told });
  for (server.said = 1; server.said <= length; server.said++) {
    const { said } = server;
    if (said === begin) leave = follow(name);
    if (open && !draw.below(5)) {
      open = false;
      interrupted();
    } else if (!open && draw.below(2)) {
      open = true;
      // Another leader begins with what is newest; the same one goes on after what it was told.
      if (last === undefined || !draw.below(3)) last = undefined;
      else for (; last + 1 < said; last++) tell("change", from.change(last, last + 1));
    }
    if (open && last !== undefined && !draw.below(8)) {
      tell("gap", { after: last, next: said, reason: "slow" });
      last = undefined;
    }
    if (open) {
      const quiet = last !== undefined && spelled(from.at(last) as never) === spelled(from.at(said) as never);
      if (last === undefined) tell("keyframe", from.keyframe(said));
      else tell(quiet ? "unchanged" : "change", quiet ? { at: said, since: last } : from.change(last, said));
      last = said;
    }
    if (said >= begin && !draw.below(6)) reachBack(name, 1 + draw.below(said));
    while (server.waiting.length && draw.below(3)) {
      server.serve(server.waiting.shift() as Waiting);
      if (draw.below(2)) await settled();
    }
    if (said >= begin) holds(feedStore(name).value.held, from);
  }
  server.said = length;
  await settled();
  for (let turns = 0; server.waiting.length; turns++) {
    assert.ok(turns < 20, "it asks without an end");
    server.serve(server.waiting.shift() as Waiting);
    await settled();
  }
  const { held } = feedStore(name).value;
  holds(held, from);
  if (open) assert.equal(held.answer?.at, length);
  leave();
}

test("what is held is what was said", async () => {
  const draws: [Draw, number][] = [];
  each(80, (draw, seed) => draws.push([draw, seed]));
  for (const [draw, seed] of draws)
    try {
      await history(draw, `query ${seed}`);
    } catch (error) {
      console.error(`SEED=${seed}`);
      throw error;
    }
});

test("what is held is of one version, whatever the one before still says", async () => {
  const draws: Draw[] = [];
  each(40, (draw) => draws.push(draw));
  const [before, after] = draws.map(teller).filter(({ said }) => said.length > 1) as [Teller, Teller];
  const server = new Server(after), name = "replaced";
  surroundings(server);
  const tell = (kind: string, version: number, told: object): void => heard(kind, { query: name, version, ...told });
  const leave = follow(name);
  server.serve(server.waiting.shift() as Waiting); // nothing is said yet
  await settled();
  tell("keyframe", 3, before.keyframe(1));
  tell("replaced", 7, { id: 3, replaces: 3 });
  await settled();
  assert.equal(feedStore(name).value.version, 7);
  assert.equal(feedStore(name).value.held.answer, undefined);
  tell("change", 3, before.change(1, 2));
  tell("keyframe", 7, after.keyframe(1));
  tell("unchanged", 3, { at: 3, since: 2 });
  await settled();
  holds(feedStore(name).value.held, after);
  assert.equal(feedStore(name).value.held.answer?.at, 1);
  tell("keyframe", 9, before.keyframe(2)); // while the connection was away it was replaced once more
  await settled();
  holds(feedStore(name).value.held, before);
  assert.deepEqual(feedStore(name).value.held.steps.map(({ at }) => at), [2]);
  tell("gap", 9, { after: 0, next: 1, reason: "restored" }); // and now it is what it was before that
  tell("keyframe", 7, after.keyframe(1));
  await settled();
  assert.equal(feedStore(name).value.version, 7);
  assert.deepEqual(feedStore(name).value.held.steps.map(({ at }) => at), [1]);
  holds(feedStore(name).value.held, after);
  assert.equal(server.waiting.length, 0);
  leave();
});
