import { freeBytes } from 'zin'

/**
 * Free space below which the store only reads, in bytes. PostgreSQL needs some to write its buffers and its log, and cannot continue without it;
 * the other files in the data directory get the rest.
 */
export const spareBytes = 12 * 2 ** 20
/** How long a measurement is used, in ms. It takes 2 µs on a local disk, and longer on a remote one. */
const staleMs = 25
/** How long the disk counts as full after a write failed, in ms: a quota may not show in the free space. */
const fullMs = 2000

/** The free space of the disk that holds a folder. */
export class Disk {
  readonly dir: string
  #free = 0
  #measuredAt = Number.NEGATIVE_INFINITY
  #fullUntil = Number.NEGATIVE_INFINITY

  constructor(dir: string) {
    this.dir = dir
  }

  /** Bytes; infinite if the system does not tell. */
  get free(): number {
    const now = performance.now()
    if (now - this.#measuredAt > staleMs) {
      this.#free = freeBytes(this.dir)
      this.#measuredAt = now
    }
    return now < this.#fullUntil ? 0 : this.#free
  }

  /** Whether what remains after `bytes` more is too little to write. */
  lacks(bytes = 0): boolean {
    return this.free - bytes < spareBytes
  }

  /** A write failed for lack of space. */
  failed(): void {
    this.#fullUntil = performance.now() + fullMs
  }

  /** Measures again at the next use. */
  forget(): void {
    this.#measuredAt = Number.NEGATIVE_INFINITY
  }
}
