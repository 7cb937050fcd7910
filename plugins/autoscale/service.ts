import type { Clock } from 'zin'
import type { Autoscale, ScalingStatus } from './contract.js'
import { autoscaleErrors } from './errors.js'
import { autoScaling } from './feature.js'
import { keepFor } from './recommend/running.js'
import { readRunning, readSignals, type SignalSources } from './signals.js'
import type { StatusStore, StoredStatus } from './status-store.js'

export interface ServiceParts extends SignalSources {
  readonly statuses: StatusStore
  readonly clock: Clock
  readonly enabled: boolean
  readonly dryRun: boolean
  readonly graceSeconds: number
}

export function createAutoscale(parts: ServiceParts): Autoscale {
  const { clock, dryRun, enabled, queues, statuses, workers } = parts
  return {
    enabled,
    dryRun,
    list: async () => (enabled ? await withRunning(parts, await statuses.read()) : []),
    async get(name) {
      const worker = await workers.get(name)
      if (!autoScaling.isOn(worker)) throw autoscaleErrors.AUTO_SCALING_OFF(name)
      const known = enabled ? (await statuses.read()).filter((status) => status.worker === name) : []
      const [status] = await withRunning(parts, known)
      if (status !== undefined) return status
      const at = clock.now()
      const signals = (await readSignals({ queues, workers }, [worker], await workers.nodes(), at)).get(name)
      const { active = null, backlog = 0, current = 0, nodes = 0, queueAgeSeconds = 0 } = signals ?? {}
      const { maxWorkers = 1 } = autoScaling.of(worker) ?? {}
      const stopped = worker.desired !== 'running' || worker.paused || autoScaling.of(worker)?.enabled !== true
      const reason = !enabled
        ? 'WORKER_AUTO_SCALING_ENABLED is false'
        : stopped
          ? 'The worker is stopped or paused, or its scaling is disabled'
          : 'The worker has not been evaluated yet'
      return {
        worker: name,
        // Nothing was decided, so the platform keeps what it runs.
        desired: Math.max(1, nodes, Math.min(maxWorkers, Math.round(current))),
        target: Math.max(1, Math.round(current)),
        current,
        reason,
        backlog,
        running: active,
        queueAgeSeconds: Math.round((queueAgeSeconds ?? 0) * 10) / 10,
        dryRun,
        decisionId: null,
        at: new Date(at).toISOString(),
      }
    },
  }
}

/** Returns statuses whose desired number takes account of the jobs that run now: they may have started after the evaluation. */
export async function withRunning(
  { clock, graceSeconds, queues }: Pick<ServiceParts, 'clock' | 'graceSeconds' | 'queues'>,
  statuses: readonly StoredStatus[],
): Promise<readonly ScalingStatus[]> {
  const names = [...new Set(statuses.flatMap(({ desired, present, queueName }) => (desired < present ? [queueName] : [])))]
  const found = names.length === 0 ? new Map<string, never>() : await readRunning(queues, names, clock.now())
  return statuses.map((stored) => {
    const { asked: _, nodes: __, concurrency, longest, present, queueName, ...status } = stored
    const running = stored.desired < present ? found.get(queueName) : undefined
    if (running === undefined) return status
    const keep = keepFor({ running, longest, concurrency, present, graceSeconds })
    if (keep.workers <= status.desired) return { ...status, running: running.active }
    return { ...status, running: running.active, desired: keep.workers, reason: `${status.reason}; ${keep.reason}` }
  })
}
