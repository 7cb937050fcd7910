import { createHash } from 'node:crypto'
import { definePlugin, Type } from 'zin'
import { clusterService, defineMessage } from 'zin/plugins/cluster'
import { kvService } from 'zin/plugins/kv'
import { type AttemptOutcome, workersService } from 'zin/plugins/workers'
import { rateShaping } from './feature.js'
import { Pace } from './pace.js'

/** Sent by the leader to every process: the number of processes that share a rate. */
const shared = defineMessage<{ readonly epoch: number; readonly nodes: number }>('rate-shaper.shared')

/** How long a job is delayed when the store is unavailable, in ms. */
const unavailableMs = 5_000

/** Limits the job rate of each customer, and skips duplicate jobs. */
export const rateShaper = definePlugin({
  name: 'rate-shaper',
  version: '1.0.0',
  description: 'Limits the job rate of each customer and skips duplicate jobs',
  uses: { cluster: clusterService, kv: kvService, workers: workersService },
  setup({ clock, hooks, log, onReady, onStart, onStop, plugin, route, services }) {
    const pace = new Pace()
    const outcomes: Record<string, number> = {}
    const count = (outcome: AttemptOutcome | 'skipped'): void => {
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    }
    let nodes = 1
    let newest = 0

    // The configuration of a worker is read with its first job, and again after its record has changed.
    type Shape = NonNullable<ReturnType<typeof rateShaping.of>>
    const shapes = new Map<string, Promise<Shape | undefined>>()
    const readShape = async (name: string): Promise<Shape | undefined> => {
      const worker = await services.workers.get(name)
      return rateShaping.isOn(worker) ? rateShaping.of(worker) : undefined
    }
    const shapeOf = (name: string): Promise<Shape | undefined> => {
      const known = shapes.get(name) ?? readShape(name)
      shapes.set(name, known)
      known.catch(() => shapes.delete(name))
      return known
    }

    onStart(() => {
      const { cluster, kv, workers } = services
      onStop(workers.offerFeature(rateShaping))
      onStop(
        workers.events(({ type, worker }) => {
          if ((type === 'changed' || type === 'removed') && worker !== undefined) shapes.delete(worker)
        }),
      )
      onStop(
        workers.useJobMiddleware(
          async ({ worker, job, delay }, next) => {
            const shape = await shapeOf(worker)
            if (shape === undefined) return next()
            const once = onceKey(worker, shape, job.data)
            try {
              const twin = once === undefined ? null : await kv.get(once)
              if (twin !== null) {
                count('skipped')
                return { skipped: true, sameAs: twin }
              }
            } catch (error) {
              if (kv.isUnavailable(error)) return delay(unavailableMs)
              throw error
            }
            const rateKey = `${worker} ${textOf(job.data, shape.rateBy) ?? ''}`
            const waitMs = pace.begin(rateKey, shape.perMinute / nodes, clock.now())
            return waitMs > 0 ? delay(waitMs) : next()
          },
          { plugin: plugin.name },
        ),
      )
      onStop(
        cluster.on(shared, (message) => {
          // Ignore a previous leader that may still be sending.
          if (message.epoch < newest) return
          newest = message.epoch
          nodes = message.nodes
        }),
      )
    })

    // A job counts as done only when the store has accepted its outcome.
    hooks.on('onAttemptEnd', async ({ worker, job, outcome }) => {
      const shape = await shapeOf(worker)
      if (shape === undefined) return
      const once = outcome === 'completed' ? onceKey(worker, shape, job.data) : undefined
      if (once !== undefined) await services.kv.set(once, job.id, { ttlMs: shape.rememberMs, ifAbsent: true })
      count(outcome)
    })

    onReady(() => {
      const { cluster } = services
      const publish = (epoch: number): void => {
        const alive = cluster.nodes().filter((node) => node.alive).length
        cluster
          .send(shared, { epoch, nodes: Math.max(1, alive) })
          .catch((error: unknown) =>
            log.warn({ err: error }, 'the number of processes was not published; rates keep their previous shares'),
          )
      }
      const leadership = cluster.lead(plugin.name, { onGain: publish })
      onStop(() => leadership.resign())
      onStop(
        cluster.onNodes(() => {
          if (leadership.leads) publish(leadership.epoch)
        }),
      )
    })

    route({
      method: 'GET',
      path: '/api/rate-shaper',
      summary: 'Show the outcomes of attempts in this process, and the number of processes that share a rate',
      use: ['ops'],
      response: {
        200: Type.Object({ nodes: Type.Integer(), epoch: Type.Integer(), outcomes: Type.Record(Type.String(), Type.Integer()) }),
      },
      handler: () => ({ nodes, epoch: newest, outcomes }),
    })
  },
})

/** The key that records that a job with this value is done; undefined if the job may run again. */
function onceKey(worker: string, { onceBy }: { readonly onceBy?: string }, data: unknown): string | undefined {
  const value = onceBy === undefined ? undefined : textOf(data, onceBy)
  return value === undefined ? undefined : `rate-shaper:${worker}:${createHash('sha256').update(value).digest('hex')}`
}

/** The value of a field as JSON; undefined if the field is missing. */
function textOf(data: unknown, field: string): string | undefined {
  return typeof data === 'object' && data !== null && Object.hasOwn(data, field)
    ? JSON.stringify((data as Readonly<Record<string, unknown>>)[field])
    : undefined
}
