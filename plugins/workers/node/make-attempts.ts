import { keepDeadLetter } from '../jobs/dead-letters.js'
import type { StoredWorker } from '../store/contract.js'
import { AttemptRecords } from './attempt-records.js'
import type { Attempts } from './consumer.js'
import type { Counters } from './counters.js'
import type { LoadedVersions } from './loaded-versions.js'
import type { LocalWorkerParts } from './local-worker-parts.js'
import { jobRunner } from './run-job.js'
import { RunningJobs } from './running-jobs.js'
import { TimeLimits } from './time-limit.js'
import type { LoadedVersion } from './version.js'

export interface AttemptOwner {
  readonly name: string
  readonly id: string
  readonly counters: Counters
  /** The worker as last applied. */
  readonly worker: StoredWorker | undefined
  readonly version: string | undefined
}

/** Creates everything that a new consumer of a worker needs to run its jobs. */
export function makeAttempts(owner: AttemptOwner, versions: LoadedVersions, queue: string, parts: LocalWorkerParts): Attempts {
  const { clock, id: node, lostVersion, middlewares, routes } = parts
  const { name: worker, counters } = owner
  const running = new RunningJobs(clock)
  const timeLimits = new TimeLimits(clock)
  const shared = { ...parts, worker, node, queue, running, counters }
  const records = new AttemptRecords({
    ...shared,
    lostVersion: () => lostVersion(owner),
    onDead: (job) => {
      if (owner.worker?.record.features.deadLetterQueue === true) void keepDeadLetter(job, shared)
    },
  })
  const run = jobRunner({
    ...shared,
    records,
    timeLimits,
    select: (job) => routes.choose(worker, job, versions.active as LoadedVersion, (version) => versions.candidate(version)),
    middlewares: () => (owner.worker?.record.features.plugins === false ? [] : middlewares.chain),
    defaults: () => owner.worker?.record.jobOptions ?? {},
  })
  return { run, running, records, timeLimits }
}
