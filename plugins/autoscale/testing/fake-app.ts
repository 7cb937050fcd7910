import type { Decision, NewDecision } from 'zin/plugins/decisions'
import { type CreateWorker, durationBounds, type NodeView, type WorkerView } from 'zin/plugins/workers'
import { fakeClock, memoryLogger } from 'zin/testing'
import { type AssembleInput, assemble } from '../assemble.js'
import type { ScalingStatus } from '../contract.js'
import type { FailoverEvent, ScaleEvent } from '../hooks.js'
import { autoscaleOptions } from '../options.js'
import { autoscaleSettings } from '../settings.js'

/** Load that a test sets and may change between ticks. */
export interface FakeLoad {
  waiting: number
  /** How long the oldest job has waited, in ms. */
  ageMs: number
  /** Number of reads of the oldest job that find it taken. */
  taken: number
  attempts: number
  runMs: number
  /** How long each running job has run, in ms. */
  running: readonly number[]
  /** Whether the queues cannot be read. */
  down: boolean
  canary: boolean
  nodes: readonly Pick<NodeView, 'id' | 'alive' | 'consumes' | 'region'>[]
  leads: boolean
}

export interface FakeAppOptions {
  readonly settings?: Partial<AssembleInput['settings']>
  readonly options?: Partial<AssembleInput['options']>
  readonly workers?: readonly Pick<CreateWorker, 'name' | 'features' | 'extensions' | 'placement' | 'concurrency'>[]
  readonly load?: Partial<FakeLoad>
  /** ms since 1970. */
  readonly now?: number
}

export const node = (id: string, region = 'us-east-1') => ({ id, alive: true, consumes: true, draining: false, busy: 0, region })

/** The plugin with all dependencies in memory, on a clock that the test advances. */
export function fakeApp({ settings, options, workers = [], load: given, now }: FakeAppOptions = {}) {
  const clock = fakeClock(now)
  const log = memoryLogger()
  const load: FakeLoad = {
    waiting: 0,
    ageMs: 0,
    taken: 0,
    attempts: 0,
    runMs: 0,
    running: [],
    down: false,
    canary: false,
    nodes: [node('a')],
    leads: true,
    ...given,
  }
  const decisions: NewDecision[] = []
  const scaled: ScaleEvent[] = []
  const moved: FailoverEvent[] = []
  const calls = { list: 0, counts: 0, countsOf: 0, oldestWaiting: 0, runningSince: 0, nodes: 0, set: 0 }
  const stored = new Map<string, { readonly value: string; readonly until: number }>()
  const views = new Map<string, WorkerView>(
    workers.map((worker) => [
      worker.name,
      {
        concurrency: 5,
        queueName: worker.name,
        features: {},
        placement: { nodes: 'all' },
        desired: 'running',
        paused: false,
        ...worker,
      } as WorkerView,
    ]),
  )
  const change = (name: string, changes: object): void => {
    const view = views.get(name)
    if (view !== undefined) views.set(name, { ...view, ...changes })
  }
  const service = {
    as: () => service,
    list: async () => {
      calls.list++
      return { workers: [...views.values()], pagination: { page: 1, limit: 100, total: views.size, totalPages: 1 } }
    },
    get: async (name: string) => views.get(name),
    nodes: async () => {
      calls.nodes++
      return load.nodes
    },
    nodesOf: async () => [{ candidates: load.canary ? [{ version: '2.0.0', busy: 0 }] : [] }],
    counts: async (names: readonly string[]) => {
      calls.counts++
      const totalMs = load.attempts * load.runMs
      return load.attempts === 0
        ? []
        : names.map((worker) => ({
            worker,
            completed: load.attempts,
            failed: 0,
            lost: 0,
            totalMs,
            durations: { [durationBounds.findIndex((bound) => bound >= load.runMs)]: load.attempts },
          }))
    },
    scale: async (name: string, concurrency: number, { reason }: { reason: string }) =>
      change(name, { scaled: { concurrency, reason, at: new Date(clock.now()).toISOString() } }),
    update: async (name: string, changes: object) => change(name, changes),
  }
  const queues = {
    countsOf: async (names: readonly string[]) => {
      calls.countsOf++
      if (load.down) throw new Error('the connection is down')
      return new Map(names.map((name) => [name, { waiting: load.waiting, active: load.running.length }]))
    },
    runningSince: async (names: readonly string[]) => {
      calls.runningSince++
      return new Map(names.map((name) => [name, load.running.map((ms) => clock.now() - ms)]))
    },
    oldestWaiting: async () => {
      calls.oldestWaiting++
      if (load.taken > 0) return load.taken-- % 2 === 0 ? undefined : clock.now() + 1
      return load.waiting === 0 ? undefined : clock.now() - load.ageMs
    },
  }
  const defaults = Object.fromEntries(Object.entries(autoscaleSettings).map(([name, { default: value }]) => [name, value]))
  const {
    current,
    leader,
    service: autoscale,
  } = assemble({
    clock,
    log,
    plugin: { name: 'autoscale', version: '1.0.0' },
    options: { ...autoscaleOptions.defaults, ...options },
    settings: { ...defaults, WORKER_AUTO_SCALING_ENABLED: true, ...settings },
    services: {
      cluster: {
        lead: () => ({
          get leads() {
            return load.leads
          },
          epoch: 1,
          resign: async () => undefined,
        }),
        isCurrent: async () => load.leads,
      },
      decisions: {
        record: (decision: NewDecision): Decision => {
          decisions.push(decision)
          return { ...decision, id: `decision-${decisions.length}`, at: '' } as Decision
        },
      },
      kv: {
        get: async (key: string) => {
          const { until = 0, value = null } = stored.get(key) ?? {}
          return until > clock.monotonic() ? value : null
        },
        set: async (key: string, value: string, { ttlMs }: { ttlMs: number }) => {
          calls.set++
          stored.set(key, { value, until: clock.monotonic() + ttlMs })
          return true
        },
      },
      queues,
      workers: service,
    },
    onScale: { active: true, call: (event: ScaleEvent) => scaled.push(event) },
    onFailover: { active: true, call: (event: FailoverEvent) => moved.push(event) },
  } as unknown as AssembleInput)
  leader.start()
  return {
    clock,
    load,
    log,
    decisions,
    scaled,
    moved,
    calls,
    autoscale,
    /** What the metrics show. */
    current,
    change,
    view: (name: string) => views.get(name),
    tick: () => leader.tick(),
    /** Ticks every second. */
    async run(seconds: number) {
      for (let second = 0; second < seconds; second++) {
        clock.advance(1000)
        await leader.tick()
      }
    },
    status: async (name: string): Promise<ScalingStatus | undefined> => (await autoscale.list()).find(({ worker }) => worker === name),
  }
}
