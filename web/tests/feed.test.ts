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
