import type { Circuit } from './circuit.js'
import { type BreakerRules, openFor } from './rules.js'
import type { Evidence } from './window.js'

/** Formats a duration: 90000 → `90 s`, 600000 → `10 min`, 250 → `250 ms`. */
export function duration(ms: number): string {
  if (ms >= 120_000 && ms % 60_000 === 0) return `${ms / 60_000} min`
  return ms >= 1000 ? `${Math.round(ms / 100) / 10} s` : `${ms} ms`
}

/** Returns the reason why a circuit opens, with its numbers. */
export function whyOpened({ rule, jobs, failed, inARow }: Evidence, rules: BreakerRules): string {
  return rule === 'failure-ratio' ? `${failed} of ${jobs} jobs failed within ${duration(rules.windowMs)}` : `${inARow} jobs in a row failed`
}

/** Describes a change made by the rules, as a sentence. */
export function sentenceOf(before: Circuit | undefined, after: Circuit | undefined, rules: BreakerRules): string {
  if (after === undefined) return `Closed: ${rules.probes} of ${rules.probes} probes succeeded`
  const time = duration(openFor(rules, after.openings))
  if (after.state === 'half-open') return `Half-open after ${time}: up to ${rules.probes} jobs run as probes`
  return before === undefined ? `Opened for ${time}: ${after.reason}` : `Opened again for ${time}: a probe failed`
}
