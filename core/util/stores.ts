import { messageOf } from '../errors.js'
import { systemClock } from './clock.js'

/** One line of `zin doctor`. */
export interface Finding {
  /** What was checked: `clock of Redis at localhost:6379`. */
  readonly check: string
  /** What was found, as a sentence without a full stop and without secrets. */
  readonly message: string
  /** What to do about it; present if and only if it is a problem. */
  readonly fix?: string
}

/** A store that a plugin keeps its data in. `zin info` shows where it is; `zin doctor` checks it. */
export interface StoreInfo {
  /**
   * What and where it is, without secrets: `Redis at localhost:6379`. Plugins that share a store return the same text: it is shown once. Each
   * of them checks what it needs of it, and lines that say the same are shown once.
   */
  readonly where: string
  /**
   * Connects to it within a few seconds and returns what was found; closes everything. It must not change data. A thrown error is a problem;
   * its message says what to do.
   */
  check(): Promise<readonly Finding[]>
}

/** By how much the clocks of this machine and of a store may differ, in ms. */
const mostApartMs = 5_000

/**
 * Compares the clock of a store with that of this machine.
 *
 * @param read the time of the store, in ms since 1970.
 */
export async function checkClock(where: string, read: () => Promise<number>): Promise<Finding> {
  const check = `clock of ${where}`
  const [wall, start] = [systemClock.now(), systemClock.monotonic()]
  try {
    const theirs = await read()
    // The store read its clock about half way.
    const apartMs = Math.round(wall + (systemClock.monotonic() - start) / 2 - theirs)
    const words = `this machine is ${Math.abs(apartMs)} ms ${apartMs < 0 ? 'behind' : 'ahead of'} it`
    return Math.abs(apartMs) <= mostApartMs
      ? { check, message: words }
      : { check, message: words, fix: 'Synchronise the clocks of both machines, e.g. with NTP' }
  } catch (error) {
    return { check, message: `it could not be read: ${messageOf(error)}`, fix: 'See the line about the store itself' }
  }
}
