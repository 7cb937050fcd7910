import { seconds, workers } from './load.js'

/** The jobs that run at a moment. */
export interface RunningJobs {
  /** Null if it could not be read. */
  readonly active: number | null
  /** How long the oldest of them has run; 0 if none runs. */
  readonly oldestSeconds: number
}

/** The longest run that was seen. */
export interface LongestRun {
  readonly seconds: number
  /** When, in ms since 1970. */
  readonly at: number
}

export interface KeepInput {
  readonly running: RunningJobs
  readonly longest: LongestRun | null
  /** Parallel jobs of one worker. */
  readonly concurrency: number
  /** Workers that the platform runs now. */
  readonly present: number
  /** How long a process may go on with its jobs after the platform has told it to end. */
  readonly graceSeconds: number
}

export interface Keep {
  readonly workers: number
  readonly reason: string
}

/**
 * Returns how many workers the platform must keep. It chooses itself which processes it ends, so if a running job could outlast the time
 * that an ending process has, all of them stay. What is not known counts as long.
 */
export function keepFor({ concurrency, graceSeconds, longest, present, running: { active, oldestSeconds } }: KeepInput): Keep {
  if (active === null) return { workers: present, reason: 'the running jobs could not be read, so no process should end' }
  if (active === 0) return { workers: 0, reason: 'no job is running' }
  const jobs = active === 1 ? 'a job is running' : `${active} jobs are running`
  const longestSeconds = Math.max(oldestSeconds, longest?.seconds ?? 0)
  if (longestSeconds > graceSeconds) {
    const long = oldestSeconds > graceSeconds ? `for up to ${seconds(oldestSeconds)}` : `and jobs run for up to ${seconds(longestSeconds)}`
    return { workers: present, reason: `${jobs}, ${long} (longer than ${seconds(graceSeconds)}), so no process should end` }
  }
  if (longest === null) return { workers: present, reason: `${jobs}, and it is not known yet for how long, so no process should end` }
  const busy = Math.min(present, Math.ceil(active / concurrency))
  return { workers: busy, reason: `${jobs}, which need ${workers(busy)}` }
}

/** A long run is remembered for a day. */
const rememberMs = 86_400_000

/** Returns the longest run of the last day: the one known before, or the longest that has ended or is running now. */
export function longestRun(before: LongestRun | null, seen: number | null, at: number): LongestRun | null {
  const known = before !== null && at - before.at <= rememberMs ? before : null
  if (seen === null) return known
  return known !== null && known.seconds > seen ? known : { seconds: seen, at }
}
