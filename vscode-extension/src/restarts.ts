// How often a server that keeps ending by itself is started again. Pure.

export const MOST_RESTARTS = 4;
const WINDOW_MS = 180_000;

/** Counts the ends of the server; `again(now)` says whether to start it once more (at most 4 times in 3 minutes). */
export class Restarts {
  private readonly ends: number[] = [];

  again(now: number): boolean {
    this.ends.push(now);
    while (this.ends.length > 0 && now - (this.ends[0] ?? now) > WINDOW_MS) this.ends.shift();
    return this.ends.length <= MOST_RESTARTS;
  }

  /** A start that the user asked for counts from zero. */
  forget(): void {
    this.ends.length = 0;
  }
}
