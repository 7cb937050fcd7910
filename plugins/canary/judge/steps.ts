import type { Move, Progress, Step, Verdict } from './types.js'

/** First attempts of the canary that must end in a step before the next one begins: enough to roll back a version that always throws. */
export const minJobsPerStep = 5

/** A canary with too few jobs is extended to this multiple of its duration; then a person decides. */
export const maxExtension = 4

/** How often the leader evaluates the evidence of all processes, in ms. */
export const lookEveryMs = 10_000

/** Minimum interval between early evaluations ({@link wantsEarlyLook}), in ms. */
export const earlyLookGapMs = 250

const rungs = [0.01, 0.05, 0.1, 0.25, 0.5]

/**
 * Returns the default steps of a canary: those of 1, 5, 10, 25 and 50 percent that are below the target, then the target, all equally long.
 *
 * @param percent The target, above 0 and at most 100.
 * @param durationMs Total duration of all steps.
 */
export function ladder(percent: number, durationMs: number): readonly Step[] {
  const target = percent / 100
  const shares = [...rungs.filter((rung) => rung < target), target]
  return shares.map((share) => ({ share, minDurationMs: durationMs / shares.length }))
}

/** Decides the next move of a running canary. */
export function nextMove(verdict: Verdict, progress: Progress): Move {
  if (verdict === 'FAIL') return 'rollback'
  if (verdict === 'SAMPLE_RATIO' || verdict === 'OUTAGE') return 'pause'
  const step = progress.steps[progress.step] as Step
  if (progress.stepMs < step.minDurationMs) return 'stay'
  const isLast = progress.step >= progress.steps.length - 1
  const lacksJobs = progress.stepJobs < (step.minJobs ?? minJobsPerStep) || (isLast && progress.lacksJobs === true)
  if (lacksJobs || progress.isFailing === true) {
    const planned = progress.steps.reduce((sum, { minDurationMs }) => sum + minDurationMs, 0)
    return progress.totalMs < maxExtension * planned ? 'stay' : 'pause'
  }
  if (!isLast) return 'advance'
  return verdict === 'PASS' ? 'promote' : 'pause'
}

/**
 * Whether a process requests an early evaluation after a first attempt of the canary: if the attempt was bad, and so was the previous one
 * in this process, or there was none. The process stores its evidence first. The leader evaluates at most every {@link earlyLookGapMs}.
 *
 * So a version that always throws is judged after its first job and then up to four times a second, not only every `lookEveryMs`.
 */
export function wantsEarlyLook(previous: 'none' | 'ok' | 'bad', current: 'ok' | 'bad'): boolean {
  return current === 'bad' && previous !== 'ok'
}
