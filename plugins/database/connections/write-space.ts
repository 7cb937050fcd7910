/** How long a file counts as full after a write failed, unless another one has succeeded, in ms. */
const fullMs = 30_000

/** Remembers that there was no space for a write: a quota does not show in the free space of a disk. */
export class WriteSpace {
  #fullUntil = Number.NEGATIVE_INFINITY

  get isFull(): boolean {
    return performance.now() < this.#fullUntil
  }

  /** A statement failed. */
  failed(error: unknown): void {
    const { code } = (error ?? {}) as { readonly code?: unknown }
    if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_WRITE') this.#fullUntil = performance.now() + fullMs
  }

  /** A write has succeeded. */
  wrote(): void {
    this.#fullUntil = Number.NEGATIVE_INFINITY
  }
}
