// Finds the version of a worker that fails too often. Pure.

import { failsTooOften } from './failure-share.js'

/** The counters of a version. */
interface Counted {
  readonly worker: string
  readonly version?: string
  readonly completed: number
  readonly failed: number
}

/** Attempts of a version within the last hour. */
export interface VersionShare {
  readonly version: string
  readonly failed: number
  readonly attempts: number
}

export interface FailingVersion extends VersionShare {
  readonly worker: string
  /** The other version with the most attempts; absent if there is none. */
  readonly beside?: VersionShare
}

/**
 * Returns, for each worker, the version with the highest failure rate if that rate is above the tolerated one.
 *
 * @param counts of the last hour, by version.
 * @param explained failed attempts of a worker that have another known cause.
 */
export function failingVersions(counts: readonly Counted[], explained: (worker: string) => number = () => 0): readonly FailingVersion[] {
  const byWorker = new Map<string, Counted[]>()
  for (const one of counts) byWorker.set(one.worker, [...(byWorker.get(one.worker) ?? []), one])
  return [...byWorker].flatMap(([worker, ofWorker]) => {
    const known = explained(worker)
    const shares = ofWorker.map(({ completed, failed, version = '' }): VersionShare => {
      const own = Math.max(0, failed - known)
      return { version, failed: own, attempts: completed + own }
    })
    const worst = shares
      .filter(({ attempts, failed }) => attempts > 0 && failsTooOften(failed / attempts, attempts))
      .sort((a, b) => b.failed / b.attempts - a.failed / a.attempts)[0]
    if (worst === undefined) return []
    const beside = shares.filter((one) => one !== worst && one.attempts > 0).sort((a, b) => b.attempts - a.attempts)[0]
    return [{ worker, ...worst, ...(beside === undefined ? {} : { beside }) }]
  })
}
