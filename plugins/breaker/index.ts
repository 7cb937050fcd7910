import { definePlugin, messageOf, optional, withDeadline } from 'zin'
import { clusterService } from 'zin/plugins/cluster'
import { decisionsService } from 'zin/plugins/decisions'
import { kvService } from 'zin/plugins/kv'
import { opsService } from 'zin/plugins/ops'
import { workersService } from 'zin/plugins/workers'
import { Announcer } from './announce.js'
import { circuitKinds, circuitReport } from './attention.js'
import { breakerCommands } from './cli.js'
import { breakerService } from './contract.js'
import { breakerErrors } from './errors.js'
import { circuitBreaker } from './feature.js'
import { Guards } from './guards.js'
import { healthTermsOf } from './health-terms.js'
import { breakerHooks } from './hooks.js'
import { breakerMetrics } from './metrics.js'
import { breakerOptions } from './options.js'
import { breakerRoutes } from './routes.js'
import { createBreaker, rulesIn } from './service.js'
import { SharedCircuits } from './shared-circuits.js'

export type { CircuitState } from './circuit.js'
export type { Breaker, BreakerStatus, CircuitChange, CircuitView } from './contract.js'
export { breakerService } from './contract.js'
export type { BreakerHooks } from './hooks.js'
export type { BreakerOptions } from './options.js'
export type { BreakerRules } from './rules.js'

/** Intervals for reading circuits that other nodes may have changed, and for renewing leases of probes, in ms. */
const pollMs = 5_000
const renewMs = 15_000
/** How long the start of a worker waits for its circuits, in ms. */
const loadMs = 3_000

/** Circuit breakers for workers: while most jobs fail, further jobs are delayed without using up an attempt. */
export const breaker = definePlugin({
  name: 'breaker',
  version: '1.0.0',
  description: 'Circuit breakers for workers: while most jobs fail, further jobs are delayed without using up an attempt',
  dependencies: ['ops'],
  uses: { cluster: clusterService, decisions: optional(decisionsService), kv: kvService, ops: opsService, workers: workersService },
  provides: [breakerService],
  hooks: breakerHooks,
  attention: circuitKinds,
  errors: breakerErrors,
  options: breakerOptions,
  setup(ctx) {
    const { clock, hooks, log, options: defaults, plugin, services } = ctx
    const { cluster, kv } = services
    const announcer = new Announcer({ log, decisions: () => services.decisions, onCircuitChange: hooks.slot('onCircuitChange') })
    const shared = new SharedCircuits({ kv, cluster, log })
    const guards: Guards = new Guards({
      shared,
      node: cluster.node.id,
      clock,
      log,
      random: Math.random,
      onTransition: (transition) => announcer.transition(transition),
      attach: () => {
        const undo = [
          services.workers.useJobMiddleware(guards.middleware, { plugin: plugin.name }),
          hooks.on('onAttemptEnd', guards.attemptEnded),
        ]
        return () => undo.forEach((step) => void step())
      },
    })
    const service = createBreaker({
      workers: () => services.workers,
      shared,
      defaults,
      now: () => clock.now(),
      manage: ctx.manage,
      onReset: (worker, closed) => {
        guards.get(worker)?.set({})
        announcer.reset(worker, closed, services.ops.actor())
      },
    })
    ctx.provide(breakerService, service)
    if (!services.workers.enabled) return

    /** Starts or stops guarding a worker of this process, depending on its record. */
    const load = async (name: string): Promise<void> => {
      const rules = rulesIn(await services.workers.get(name), defaults)
      if (rules !== undefined) await guards.add(name, rules)
      else await forget(name)
    }
    const forget = async (name: string): Promise<void> => {
      if (guards.get(name) === undefined) return
      guards.remove(name)
      await shared.clear(name)
    }
    const attempt = (name: string, work: Promise<void>): Promise<void> =>
      work.catch((error: unknown) => {
        log.warn({ err: error, worker: name }, `the circuit breaker of worker "${name}" could not be updated: ${messageOf(error)}`)
      })

    ctx.routes(breakerRoutes(service))
    ctx.commands(breakerCommands)
    // Before the first job, so that a new process does not run jobs while the circuit is open.
    hooks.on('beforeWorkerStart', async (name) => {
      await attempt(name, withDeadline(load(name), loadMs, `no response within ${loadMs} ms`))
      return undefined
    })
    hooks.on('onWorkerStop', (name) => guards.remove(name))
    hooks.on('collectHealthTerms', async (name) => healthTermsOf(guards.get(name)?.circuits ?? (await shared.read(name))))
    hooks.on('collectAttention', (where) =>
      where === 'app' ? circuitReport({ workers: services.workers, shared, defaults }) : { facts: [] },
    )
    hooks.on('collectMetrics', () => breakerMetrics(guards.all))
    ctx.onStart(() => {
      const { workers } = services
      ctx.onStop(workers.offerFeature(circuitBreaker))
      ctx.onStop(shared.onChange((worker) => void guards.refresh(worker)))
      ctx.onStop(cluster.onMissed(() => void guards.poll()))
      ctx.onStop(
        workers.events(({ type, worker }) => {
          if (worker === undefined) return
          if (type === 'removed') void attempt(worker, forget(worker))
          const runsHere = guards.get(worker) !== undefined || workers.local.list().some(({ name }) => name === worker)
          if (type === 'changed' && runsHere) void attempt(worker, load(worker))
        }),
      )
    })
    ctx.onReady(() => {
      ctx.every(pollMs, () => guards.poll())
      ctx.every(renewMs, () => guards.renew())
    })
    ctx.onStop(() => guards.close())
  },
})
