import { randomInt } from 'node:crypto'

const digit = 36
/** Six digits in base 36, of which the first is a letter, so that no id is a number: BullMQ assigns numbers itself. */
const [least, most] = [10 * digit ** 5, digit ** 6]

/**
 * Makes ids for jobs: 20 characters, unique over all queues and processes, that sort by the time at which they were made. The first 8 are the
 * time in ms, in base 36; the others are random, and count up within one ms.
 */
export function createJobIds(now: () => number): () => string {
  let [at, high, low] = [-1, 0, 0]
  return () => {
    const time = Math.max(0, Math.floor(now()))
    // A clock that is set back must not repeat or reorder ids.
    if (time > at) [at, high, low] = [time, randomInt(least, most - digit), randomInt(0, most)]
    else if (++low === most) [high, low] = [high + 1, 0]
    return [at, high, low].map((part, i) => part.toString(digit).padStart(i === 0 ? 8 : 6, '0')).join('')
  }
}
