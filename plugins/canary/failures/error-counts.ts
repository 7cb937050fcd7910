import type { Arm, ErrorCount, ErrorCounts } from '../judge/types.js'
import type { NormalError } from './normalize-error.js'

/** Maximum number of different errors of one version that a process keeps for one step, and that all processes keep together. */
const mostOfProcess = 20
const mostOfAll = 100
/** Errors that are shown, and the size of their JSON: decisions and refusals of versions hold 4 KiB, with both versions. */
const mostShown = 5
const shownBytes = 1_400

/** Adds a failed attempt, in place. If too many errors are known, a new one takes the place of the rarest. */
export function addError(counts: ErrorCounts, arm: Arm, { class: name, message }: NormalError, example: string): void {
  const list = counts[arm]
  const known = list.find((one) => one.class === name && one.message === message)
  if (known !== undefined) {
    known.count++
    return
  }
  if (list.length >= mostOfProcess) list.splice(rarestOf(list), 1)
  list.push({ class: name, message, count: 1, example })
}

/** Adds `more` to `counts`, in place. */
export function mergeErrors(counts: ErrorCounts, more: ErrorCounts): void {
  for (const arm of ['stable', 'canary'] as const) {
    const list = counts[arm]
    for (const one of more[arm]) {
      const known = list.find((other) => other.class === one.class && other.message === one.message)
      if (known !== undefined) known.count += one.count
      else list.push({ ...one })
    }
    list.sort(byCount)
    list.splice(mostOfAll)
  }
}

/** Returns the most frequent errors of each version, as many as are shown. */
export function topErrors(counts: ErrorCounts | undefined): Readonly<Record<Arm, readonly ErrorCount[]>> {
  return { stable: topOf(counts?.stable ?? []), canary: topOf(counts?.canary ?? []) }
}

function topOf(list: readonly ErrorCount[]): readonly ErrorCount[] {
  const top = list.toSorted(byCount).slice(0, mostShown)
  while (Buffer.byteLength(JSON.stringify(top)) > shownBytes) top.pop()
  return top
}

/** A fixed order, whichever process was read first. */
function byCount(a: ErrorCount, b: ErrorCount): number {
  if (a.count !== b.count) return b.count - a.count
  const [left, right] = [`${a.class} ${a.message}`, `${b.class} ${b.message}`]
  return left < right ? -1 : left > right ? 1 : 0
}

function rarestOf(list: readonly ErrorCount[]): number {
  let rarest = 0
  for (const [index, { count }] of list.entries()) if (count < (list[rarest]?.count ?? 0)) rarest = index
  return rarest
}
