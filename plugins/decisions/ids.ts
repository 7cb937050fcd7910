import { randomBytes, randomInt } from 'node:crypto'

/** Generates UUIDs of version 7 (RFC 9562, 6.2, method 1) that always increase, even if the clock stands still or goes back. */
export class DecisionIds {
  #ms = 0
  #count = 0

  /** @param now ms since 1970. */
  next(now: number): string {
    if (now > this.#ms) this.#start(now)
    else if (++this.#count > 0xfff) this.#start(this.#ms + 1)
    const time = this.#ms.toString(16).padStart(12, '0')
    const count = this.#count.toString(16).padStart(3, '0')
    const random = randomBytes(8)
    random[0] = 0x80 | ((random[0] ?? 0) & 0x3f)
    const end = random.toString('hex')
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${end.slice(0, 4)}-${end.slice(4)}`
  }

  #start(ms: number): void {
    this.#ms = ms
    this.#count = randomInt(0x800)
  }
}
