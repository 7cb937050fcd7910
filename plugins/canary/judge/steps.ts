import type { Move, Progress, Step, Verdict } from './types.js'

/** First attempts of the canary that have to end in a step before the next one begins: enough for an always-throwing version to be gone. */
export const minJobsPerStep = 5

/** A canary whose steps lack jobs is extended to this many times its duration; then a human decides. */
export const maxExtension = 4

/** How often the leader looks at the evidence of all processes, in ms. */
export const lookEveryMs = 10_000

/** Early looks ({@link wantsEarlyLook}) are at least this far apart, in ms. */
export const earlyLookGapMs = 250

const rungs = [0.01, 0.05, 0.1, 0.25, 0.5]

/**
 * The steps of a canary of which only the target and the duration are known: 1, 5, 10, 25 and 50 percent as far as they are below the
 * target, then the target, each as long as the others.
 *
 * @param percent The target, above 0 and at most 100.
 * @param durationMs Of all steps together.
 */
export function ladder(percent: number, durationMs: number): readonly Step[] {
  const target = percent / 100
  const shares = [...rungs.filter((rung) => rung < target), target]
  return shares.map((share) => ({ share, minDurationMs: durationMs / shares.length }))
}

/** What to do with a running canary. */
export function nextMove(verdict: Verdict, progress: Progress): Move {
  if (verdict === 'FAIL') return 'rollback'
  if (verdict === 'SAMPLE_RATIO') return 'pause'
  const step = progress.steps[progress.step] as Step
  if (progress.stepMs < step.minDurationMs) return 'stay'
  if (progress.stepJobs < (step.minJobs ?? minJobsPerStep)) {
    const planned = progress.steps.reduce((sum, { minDurationMs }) => sum + minDurationMs, 0)
    return progress.totalMs < maxExtension * planned ? 'stay' : 'pause'
  }
  if (progress.step < progress.steps.length - 1) return 'advance'
  return verdict === 'PASS' ? 'promote' : 'pause'
}

/**
 * Whether a process asks for a look of its own after a first attempt of the canary: when it was bad and the one before it in this process
 * was bad, too, or there was none. It flushes its evidence first. The leader looks at most every {@link earlyLookGapMs}.
 *
 * With this an always-throwing version is judged after its first job and then up to four times a second, not after `lookEveryMs`.
 */
export function wantsEarlyLook(previous: 'none' | 'ok' | 'bad', current: 'ok' | 'bad'): boolean {
  return current === 'bad' && previous !== 'ok'
}
