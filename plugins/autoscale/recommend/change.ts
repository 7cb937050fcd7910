import type { Recommendation, Signals } from './recommend.js'

const mostConcurrency = 1000

/** Returns the concurrency per process, rounded up so that all processes together reach the target. */
export function perNode({ target }: Recommendation, { concurrency, nodes }: Signals): number {
  return Math.min(mostConcurrency, Math.max(1, Math.ceil((target * concurrency) / Math.max(1, nodes))))
}

/**
 * Returns undefined if nothing changes: the rule keeps the number, no process can run it, or the concurrency per process is the same.
 *
 * @param joined Whether processes joined since the last evaluation: they share the same number.
 */
export function direction(
  { target, rule }: Recommendation,
  { current, nodes }: Signals,
  concurrency: number,
  acting: number,
  joined: boolean,
): 'up' | 'down' | undefined {
  if (nodes === 0) return undefined
  if (joined && target < current && concurrency < acting) return 'down'
  if (rule === 'steady' || rule === 'stabilization' || rule === 'canary' || rule === 'running') return undefined
  if (target > current && concurrency > acting) return 'up'
  return target < current && concurrency < acting ? 'down' : undefined
}
