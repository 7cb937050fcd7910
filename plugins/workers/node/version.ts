import { messageOf, withDeadline } from 'zin'
import { abortable } from 'zin/plugins/redis'
import { workerErrors } from '../errors.js'
import type { WorkerHealthCheck } from '../health/check.js'
import type { LoadedProcessor, WorkerProcessor } from '../processors/processor.js'
import type { Processors } from '../processors/processors.js'
import { actingConcurrency } from '../record/scaled.js'
import type { StoredWorker } from '../store/contract.js'

/** A version of a worker that is ready to run jobs on this node. */
export interface LoadedVersion {
  readonly version: string
  readonly processor: LoadedProcessor
  readonly run: WorkerProcessor
  readonly healthCheck: WorkerHealthCheck | undefined
}

/** Deadline of the health check that a version must pass before it takes jobs, in ms. */
const gateMs = 5_000

/** Loads a version. Rejects when the signal is aborted; a version that is loaded after that is closed. */
export async function loadVersion(
  worker: StoredWorker,
  version: string,
  processors: Processors,
  signal: AbortSignal,
): Promise<LoadedVersion> {
  const { record } = worker
  const wanted = worker.versions.find((candidate) => candidate.version === version)
  if (wanted === undefined) throw workerErrors.VERSION_NOT_FOUND(record.name, version)
  const healthCheck = await abortable(processors.loadHealthCheck(record.name, version, wanted.healthCheck), signal)
  const loading = processors.load({
    worker: record.name,
    version,
    processor: wanted.processor,
    isolation: record.isolation,
    concurrency: actingConcurrency(record),
  })
  try {
    const processor = await abortable(loading, signal)
    return { version, processor, run: processor.run, healthCheck }
  } catch (error) {
    if (signal.aborted) void loading.then((late) => late.close()).catch(() => undefined)
    throw error
  }
}

/** Like {@link loadVersion}, but throws VERSION_UNHEALTHY unless the health check of the version succeeds. */
export async function loadHealthyVersion(
  worker: StoredWorker,
  version: string,
  processors: Processors,
  signal: AbortSignal,
): Promise<LoadedVersion> {
  const loaded = await loadVersion(worker, version, processors, signal)
  try {
    if (loaded.healthCheck !== undefined) await demandHealthy(worker.record.name, version, loaded.healthCheck, signal)
    return loaded
  } catch (error) {
    await loaded.processor.close()
    throw error
  }
}

async function demandHealthy(name: string, version: string, check: WorkerHealthCheck, signal: AbortSignal): Promise<void> {
  const abort = new AbortController()
  let reason: string | undefined
  try {
    const checking = Promise.resolve(check(name, abort.signal))
    const result = await withDeadline(abortable(checking, signal), gateMs, `no response within ${gateMs} ms`)
    if (result.healthy) return
    reason = result.error
  } catch (error) {
    reason = messageOf(error)
  } finally {
    abort.abort()
  }
  throw workerErrors.VERSION_UNHEALTHY(name, version, reason ?? 'its health check gave no reason')
}
