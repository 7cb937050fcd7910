/** How far this process has come with the changes of workers. */
export class KnownChanges {
  #revision = -1
  /** Worker → the revision that was read because a message told of it. */
  readonly #heard = new Map<string, number>()

  /** Up to here everything is known. */
  get revision(): number {
    return this.#revision
  }

  begin(revision: number): void {
    this.#revision = revision
  }

  /** It was read after a message. */
  heard(worker: string, revision: number): void {
    if (revision > this.#revision && revision > (this.#heard.get(worker) ?? 0)) this.#heard.set(worker, revision)
  }

  /** Of these changes, the workers that were not read since. */
  unknown(changed: ReadonlyMap<string, number>): readonly string[] {
    return [...changed].filter(([worker, revision]) => (this.#heard.get(worker) ?? 0) < revision).map(([worker]) => worker)
  }

  /** Everything up to here was read. */
  take(revision: number): void {
    this.#revision = revision
    for (const [worker, heard] of this.#heard) if (heard <= revision) this.#heard.delete(worker)
  }
}
