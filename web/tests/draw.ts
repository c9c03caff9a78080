// Draws: numbers by chance that are the same for the same seed, for tests that try many histories.
//
//     each(100, (draw, seed) => { draw.below(5); draw.of(["a", "b"]); draw.list(8, () => …); });

const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));

export class Draw {
  constructor(private state: number) {}

  /** From 0 on, below a number. */
  below(end: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * end);
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  list<T>(most: number, one: () => T): T[] {
    return Array.from({ length: this.below(most + 1) }, one);
  }

  mixed<T>(items: readonly T[]): T[] {
    const left = [...items];
    return items.map(() => left.splice(this.below(left.length), 1)[0] as T);
  }
}

export function each(times: number, run: (draw: Draw, seed: number) => void): void {
  for (let seed = SEED; seed < SEED + times; seed++)
    try {
      run(new Draw(seed), seed);
    } catch (error) {
      console.error(`SEED=${seed}`);
      throw error;
    }
}
