/** Tracks which changes of workers this node has read. */
export class KnownChanges {
  #revision = -1
  /** Worker → the revision that was read after a message about it. */
  readonly #heard = new Map<string, number>()

  /** All changes up to this revision have been read. */
  get revision(): number {
    return this.#revision
  }

  begin(revision: number): void {
    this.#revision = revision
  }

  /** Records that a worker was read after a message. */
  heard(worker: string, revision: number): void {
    if (revision > this.#revision && revision > (this.#heard.get(worker) ?? 0)) this.#heard.set(worker, revision)
  }

  /** Returns the changed workers that have not been read since. */
  unknown(changed: ReadonlyMap<string, number>): readonly string[] {
    return [...changed].filter(([worker, revision]) => (this.#heard.get(worker) ?? 0) < revision).map(([worker]) => worker)
  }

  /** Records that everything up to this revision was read. */
  take(revision: number): void {
    this.#revision = revision
    for (const [worker, heard] of this.#heard) if (heard <= revision) this.#heard.delete(worker)
  }
}
