import type { Clock } from 'zin'
import type { Autoscale } from './contract.js'
import { autoscaleErrors } from './errors.js'
import { autoScaling } from './feature.js'
import { readSignals, type SignalSources } from './signals.js'
import type { StatusStore } from './status-store.js'

export interface ServiceParts extends SignalSources {
  readonly statuses: StatusStore
  readonly clock: Clock
  readonly enabled: boolean
  readonly dryRun: boolean
}

export function createAutoscale({ clock, dryRun, enabled, queues, statuses, workers }: ServiceParts): Autoscale {
  return {
    enabled,
    dryRun,
    list: async () => (enabled ? await statuses.read() : []),
    async get(name) {
      const worker = await workers.get(name)
      if (!autoScaling.isOn(worker)) throw autoscaleErrors.AUTO_SCALING_OFF(name)
      const known = enabled ? (await statuses.read()).find((status) => status.worker === name) : undefined
      if (known !== undefined) return known
      const at = clock.now()
      const signals = (await readSignals({ queues, workers }, [worker], await workers.nodes(), at)).get(name)
      const { backlog = 0, current = 0, queueAgeSeconds = 0 } = signals ?? {}
      const stopped = worker.desired !== 'running' || worker.paused || autoScaling.of(worker)?.enabled !== true
      const reason = !enabled
        ? 'WORKER_AUTO_SCALING_ENABLED is false'
        : stopped
          ? 'The worker is stopped or paused, or its scaling is disabled'
          : 'The worker has not been evaluated yet'
      return {
        worker: name,
        desired: Math.round(current),
        current,
        reason,
        backlog,
        queueAgeSeconds: Math.round((queueAgeSeconds ?? 0) * 10) / 10,
        dryRun,
        decisionId: null,
        at: new Date(at).toISOString(),
      }
    },
  }
}
