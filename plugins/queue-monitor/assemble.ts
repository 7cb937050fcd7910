import type { PluginContext } from 'zin'
import type { Cluster } from 'zin/plugins/cluster'
import type { Decisions } from 'zin/plugins/decisions'
import type { Kv } from 'zin/plugins/kv'
import type { Ops } from 'zin/plugins/ops'
import type { Queues } from 'zin/plugins/queues'
import type { Workers } from 'zin/plugins/workers'
import { Credentials } from './access/credentials.js'
import { MonitorGuard } from './access/guard.js'
import { FailureThrottle } from './access/throttle.js'
import { Alerts } from './alerts/alerts.js'
import { thresholdsIn } from './alerts/thresholds.js'
import { Attention } from './attention/attention.js'
import { Collector } from './attention/collector.js'
import { MonitorFacts } from './attention/facts.js'
import { assembleDelivery, type DeliveryAssembly } from './deliveries/assemble.js'
import { History } from './history/history.js'
import { AttemptHistory } from './jobs/attempts.js'
import { PayloadViews } from './jobs/payloads.js'
import { visibleQueues } from './jobs/visible-queues.js'
import { JobActions } from './manage/actions.js'
import { Deletes } from './manage/deletes.js'
import { OperationStore } from './manage/operation.js'
import { Operations } from './manage/operations.js'
import type { QueueMonitorOptions } from './options.js'
import { Sampler } from './sampler.js'
import { createMonitor, type MonitorReads } from './service.js'
import { Snapshots } from './snapshot/snapshots.js'
import { WorkerAttempts } from './snapshot/worker-attempts.js'

export interface AssembleInput extends Pick<PluginContext, 'clock' | 'hooks' | 'host' | 'log' | 'manage'> {
  readonly options: QueueMonitorOptions
  readonly services: {
    readonly cluster: Cluster
    readonly decisions: Decisions | undefined
    readonly kv: Kv
    readonly ops: Ops
    readonly queues: Queues
    readonly workers: Workers | undefined
  }
}

export interface MonitorAssembly extends DeliveryAssembly {
  readonly actions: JobActions
  readonly alerts: Alerts
  readonly attention: Attention
  /** How often what needs attention is checked, in ms. */
  readonly attentionMs: number
  readonly attempts: WorkerAttempts
  readonly attemptHistory: AttemptHistory
  readonly deletes: Deletes
  readonly guard: MonitorGuard
  readonly monitor: MonitorReads
  readonly operations: Operations
  readonly sampler: Sampler
}

const weekMs = 7 * 86_400_000
const coolDownMs = 300_000
/** How often what needs attention is checked, at least, in ms. */
const attentionMs = 15_000

export function assemble(input: AssembleInput): MonitorAssembly {
  const { clock, hooks, host, log, manage, options, services } = input
  const { cluster, kv } = services
  const { apiKeys, auth, monitor: config } = options
  const queues = visibleQueues(services.queues)
  const credentials = new Credentials(auth, apiKeys)
  const guard = new MonitorGuard({
    ops: () => services.ops,
    credentials,
    throttle: new FailureThrottle(clock),
  })
  const attempts = new WorkerAttempts(() => (services.workers?.enabled === true ? services.workers : undefined))
  const snapshots = new Snapshots({ queues, attempts, kv, clock })
  const history = new History(kv, config.retention ?? weekMs)
  const views = new PayloadViews(queues)
  const delivery = assembleDelivery(input, queues, credentials)
  const attemptHistory = new AttemptHistory({ kv, queues, clock, log, keptMs: weekMs })
  const monitor = createMonitor({
    scopeOf: (ctx) => guard.scope(ctx),
    queues,
    snapshots,
    history,
    views,
    attempts: attemptHistory,
    decisions: () => services.decisions,
    clock,
  })
  const alerts = new Alerts({
    kv,
    thresholds: Object.fromEntries(thresholdsIn(config)),
    minutesOf: (queue) => history.minutesOf(queue),
    coolDownMs: config.alerts?.coolDown ?? coolDownMs,
    decisions: () => services.decisions,
    onQueueAlert: hooks.slot('onQueueAlert'),
    deliver: (alert) => delivery.webhooks.alert(alert),
    log,
  })
  const sampler = new Sampler({ cluster, snapshots, history, log, onSample: (sample) => alerts.observe(sample) })
  const periodMs = Math.min(attentionMs, config.interval ?? attentionMs)
  const facts = new MonitorFacts({
    monitor,
    alerts,
    endpoints: delivery.endpoints,
    outcomes: delivery.outcomes,
    workers: () => services.workers,
    now: () => clock.now(),
  })
  hooks.on('collectAttention', (where) => (where === 'app' ? facts.report() : { facts: [] }))
  const attention = new Attention({
    collector: new Collector({
      slot: hooks.slot('collectAttention'),
      cluster,
      kv,
      kindsOf: (plugin) => host.plugins().find(({ name }) => name === plugin)?.attention ?? [],
      keptMs: 3 * periodMs,
    }),
    kv,
    clock,
    log,
    manage,
    periodMs,
    leads: () => sampler.leads,
    isApp: host.roles.size > 0,
    onAttentionChange: hooks.slot('onAttentionChange'),
    deliver: (changes) => delivery.webhooks.attention(changes),
  })
  const actions = new JobActions({
    queues,
    views,
    onMonitorAction: hooks.slot('onMonitorAction'),
    log,
    manage,
  })
  const store = new OperationStore(kv, clock)
  const operations = new Operations({ queues, views, store, actions, clock, log, manage })
  const deletes = new Deletes({ queues, store, actions, clock, manage })
  return {
    actions,
    alerts,
    attention,
    attentionMs: periodMs,
    attempts,
    attemptHistory,
    deletes,
    guard,
    monitor,
    operations,
    sampler,
    ...delivery,
  }
}
