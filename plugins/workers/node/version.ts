import { messageOf, withDeadline } from 'zin'
import { workerErrors } from '../errors.js'
import type { WorkerHealthCheck } from '../health/check.js'
import type { LoadedProcessor, WorkerProcessor } from '../processors/processor.js'
import type { Processors } from '../processors/processors.js'
import type { StoredWorker } from '../store/store.js'

/** A version of a worker that is ready to do jobs in this process. */
export interface LoadedVersion {
  readonly version: string
  readonly processor: LoadedProcessor
  readonly run: WorkerProcessor
  readonly healthCheck: WorkerHealthCheck | undefined
}

/** Longest time of the check that a version must pass before it gets jobs, in ms. */
const gateMs = 5_000

export async function loadVersion(worker: StoredWorker, version: string, processors: Processors): Promise<LoadedVersion> {
  const { record } = worker
  const wanted = worker.versions.find((candidate) => candidate.version === version)
  if (wanted === undefined) throw workerErrors.VERSION_NOT_FOUND(record.name, version)
  const healthCheck = await processors.loadHealthCheck(record.name, version, wanted.healthCheck)
  const processor = await processors.load({
    worker: record.name,
    version,
    processor: wanted.processor,
    isolation: record.isolation,
    concurrency: record.concurrency,
  })
  return { version, processor, run: processor.run, healthCheck }
}

/** As {@link loadVersion}, but its health check must say that it is healthy, or VERSION_UNHEALTHY is thrown. */
export async function loadHealthyVersion(worker: StoredWorker, version: string, processors: Processors): Promise<LoadedVersion> {
  const loaded = await loadVersion(worker, version, processors)
  try {
    if (loaded.healthCheck !== undefined) await demandHealthy(worker.record.name, version, loaded.healthCheck)
    return loaded
  } catch (error) {
    await loaded.processor.close()
    throw error
  }
}

async function demandHealthy(name: string, version: string, check: WorkerHealthCheck): Promise<void> {
  const abort = new AbortController()
  let reason: string | undefined
  try {
    const result = await withDeadline(Promise.resolve(check(name, abort.signal)), gateMs, `no answer within ${gateMs} ms`)
    if (result.healthy) return
    reason = result.error
  } catch (error) {
    reason = messageOf(error)
  } finally {
    abort.abort()
  }
  throw workerErrors.VERSION_UNHEALTHY(name, version, reason ?? 'its health check says so')
}
