import type { NotifySlot, PluginContext, SettingValues } from 'zin'
import type { Cluster } from 'zin/plugins/cluster'
import type { Decisions } from 'zin/plugins/decisions'
import type { Kv } from 'zin/plugins/kv'
import type { Queues } from 'zin/plugins/queues'
import type { Workers } from 'zin/plugins/workers'
import type { Autoscale, ScalingStatus } from './contract.js'
import type { FailoverEvent, ScaleEvent } from './hooks.js'
import { AutoscaleLeader } from './leader.js'
import type { AutoscaleOptions } from './options.js'
import { parseWindow } from './recommend/off-peak.js'
import type { PolicyInput } from './recommend/policy.js'
import { Mover } from './regions/mover.js'
import { Scaler } from './scaler.js'
import { createAutoscale, withRunning } from './service.js'
import type { autoscaleSettings } from './settings.js'
import { StatusStore } from './status-store.js'

type Settings = SettingValues<typeof autoscaleSettings>

export interface AssembleInput extends Pick<PluginContext, 'clock' | 'log' | 'plugin'> {
  readonly options: AutoscaleOptions
  readonly settings: Settings
  readonly services: {
    readonly cluster: Cluster
    readonly decisions: Decisions
    readonly kv: Kv
    readonly queues: Queues
    readonly workers: Workers
  }
  readonly onScale: NotifySlot<[scale: ScaleEvent]>
  readonly onFailover: NotifySlot<[failover: FailoverEvent]>
}

/** A status expires after this many intervals, or a minute if that is longer. */
const staleIntervals = 3
const leastStaleMs = 60_000

export function assemble({ clock, log, onFailover, onScale, options, plugin, services, settings }: AssembleInput): {
  readonly leader: AutoscaleLeader
  readonly service: Autoscale
  /** The last statuses with the jobs that run now; empty while another node leads. */
  readonly current: () => Promise<readonly ScalingStatus[]>
} {
  const { cluster, decisions, kv, queues } = services
  const workers = services.workers.as(plugin.name)
  const intervalMs = settings.WORKER_AUTO_SCALING_INTERVAL * 1000
  const dryRun = settings.WORKER_AUTO_SCALING_DRY_RUN
  const enabled = settings.WORKER_AUTO_SCALING_ENABLED
  const statuses = new StatusStore(kv, Math.max(staleIntervals * intervalMs, leastStaleMs))
  const shared = { clock, decisions, dryRun, log, workers }
  const scaler = new Scaler({
    ...shared,
    queues,
    policy: policyInput(options, settings),
    intervalMs,
    onScale: (event) => {
      if (onScale.active) onScale.call(event)
    },
  })
  const mover = new Mover({
    ...shared,
    topology: options.regions,
    times: { leaveAfterMs: options.failoverSeconds * 1000, returnAfterMs: options.returnSeconds * 1000 },
    onFailover: (event) => {
      if (onFailover.active) onFailover.call(event)
    },
  })
  const leader = new AutoscaleLeader({ cluster, workers, scaler, mover, statuses, clock, scales: enabled, intervalMs })
  const read = { clock, graceSeconds: options.graceSeconds, queues }
  return {
    leader,
    service: createAutoscale({ ...read, dryRun, enabled, statuses, workers }),
    current: () => withRunning(read, leader.statuses),
  }
}

function policyInput({ drainSeconds, graceSeconds, stabilizationSeconds, timeZone }: AutoscaleOptions, settings: Settings): PolicyInput {
  const window = settings.WORKER_OFF_PEAK_SCALING ? parseWindow(settings.WORKER_OFF_PEAK_SCHEDULE) : undefined
  return {
    drainSeconds,
    stabilizationSeconds,
    graceSeconds,
    costOptimization: settings.WORKER_COST_OPTIMIZATION_ENABLED,
    spotInstances: settings.WORKER_SPOT_INSTANCES,
    ...(window === undefined ? {} : { offPeak: { window, reduction: settings.WORKER_OFF_PEAK_REDUCTION, timeZone } }),
  }
}
