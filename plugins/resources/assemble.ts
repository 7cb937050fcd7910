import type { NotifySlot, PluginContext } from 'zin'
import type { Cluster, Leadership } from 'zin/plugins/cluster'
import type { Database } from 'zin/plugins/database'
import type { Decisions } from 'zin/plugins/decisions'
import type { Kv } from 'zin/plugins/kv'
import type { Workers } from 'zin/plugins/workers'
import { type AlertChange, Alerts } from './alerts/alerts.js'
import { rulesOf } from './alerts/rules.js'
import type { Resources } from './contract.js'
import { Control } from './control.js'
import type { ResourceAlert } from './hooks.js'
import { Monitor } from './monitor.js'
import type { ResourcesOptions } from './options.js'
import { Sampler } from './sample/sampler.js'
import { createResources } from './service.js'
import { databaseStore } from './store/db.js'
import { memoryStore } from './store/memory.js'

export interface AssembleInput extends Pick<PluginContext, 'clock' | 'log' | 'every' | 'manage'> {
  readonly options: ResourcesOptions
  readonly settings: { readonly WORKER_RESOURCE_MONITORING: boolean }
  readonly services: {
    readonly cluster: Cluster
    readonly database: Database | undefined
    readonly decisions: Decisions
    readonly kv: Kv
    readonly workers: Workers
  }
  readonly onAlert: NotifySlot<[alert: ResourceAlert]>
}

export interface ResourceParts {
  readonly control: Control
  readonly service: Resources
  /** Deletes old history, on the leader only. */
  prune(): Promise<void>
}

/** Deadline of the measured round trip, in ms. */
const pingMs = 2_000
/** The leader deletes old history. */
const role = 'resources'

export function assemble({ clock, every, log, manage, onAlert, options, services, settings }: AssembleInput): ResourceParts {
  const { cluster, database, decisions, kv } = services
  const store = database === undefined ? memoryStore() : databaseStore(database)
  const intervalMs = options.intervalSeconds * 1000
  const monitor = new Monitor({
    node: () => cluster.node.id,
    sampler: new Sampler({ pingStore: () => kv.ping(AbortSignal.timeout(pingMs)).catch(() => null) }),
    store,
    alerts: new Alerts(rulesOf(options)),
    onAlert: (change) => {
      const alert = { ...change, node: cluster.node.id }
      recordAlert(decisions, alert)
      if (onAlert.active) onAlert.call(alert)
    },
    clock,
    log,
    intervalMs,
    every,
  })
  const control = new Control({
    enabled: settings.WORKER_RESOURCE_MONITORING,
    kv,
    cluster,
    workers: () => services.workers,
    monitor,
    log,
  })
  let leadership: Leadership | undefined
  return {
    control,
    service: createResources({ control, store, cluster, decisions, clock, intervalMs, manage }),
    async prune() {
      // Each process prunes its own memory store.
      if (database === undefined) return store.prune(clock.now())
      leadership ??= cluster.lead(role)
      if (leadership.leads && (await cluster.isCurrent(role, leadership.epoch))) await store.prune(clock.now())
    },
  }
}

function recordAlert(decisions: Decisions, { node, reason, rule, since, state, threshold, value }: AlertChange & { node: string }): void {
  decisions.record({
    kind: 'alert',
    subject: `node:${node}`,
    verdict: state,
    acted: true,
    reason,
    inputs: { value, threshold, since: new Date(since).toISOString() },
    rule: `resources/${rule}`,
    links: { alerts: '/api/resources/alerts' },
  })
}
