import type { Manage } from 'zin'
import type { Workers } from 'zin/plugins/workers'
import type { Circuit } from './circuit.js'
import type { Breaker, BreakerStatus, CircuitView } from './contract.js'
import { breakerErrors } from './errors.js'
import { circuitBreaker } from './feature.js'
import { type BreakerRules, rulesOf } from './rules.js'
import type { Circuits, SharedCircuits } from './shared-circuits.js'

type WorkerView = Awaited<ReturnType<Workers['get']>>

export interface BreakerServiceOptions {
  readonly workers: () => Workers
  readonly shared: SharedCircuits
  readonly defaults: BreakerRules
  readonly now: () => number
  readonly manage: Manage
  /** Called when an operator has closed circuits. */
  readonly onReset: (worker: string, closed: Circuits) => void
}

/** Returns the rules of a worker, or undefined if its breaker is off. */
export function rulesIn(worker: Pick<WorkerView, 'name' | 'features' | 'extensions' | 'extensionVersions'>, defaults: BreakerRules) {
  const acts = circuitBreaker.isOn(worker) && worker.features.plugins !== false
  return acts ? rulesOf(defaults, circuitBreaker.of(worker)) : undefined
}

export function createBreaker({ workers, shared, defaults, now, manage, onReset }: BreakerServiceOptions): Breaker {
  const statusOf = (worker: WorkerView, circuits: Circuits): BreakerStatus => {
    const own = rulesIn(worker, defaults)
    const rules = own ?? defaults
    const acting = own === undefined ? {} : circuits
    const states = Object.values(acting).map(({ state }) => state)
    return {
      worker: worker.name,
      enabled: own !== undefined,
      state: states.includes('open') ? 'open' : states.length > 0 ? 'half-open' : 'closed',
      circuits: Object.entries(acting).map(([key, circuit]) => viewOf(key, circuit, rules, now())),
      rules,
    }
  }
  return {
    async status(name) {
      const worker = await workers().get(name)
      return statusOf(worker, await shared.read(worker.name))
    },
    async reset(name) {
      const worker = await workers().get(name)
      if (rulesIn(worker, defaults) === undefined) {
        const why = circuitBreaker.isOn(worker) ? '"features.plugins" is false' : '"features.circuitBreaker" is not true'
        throw breakerErrors.CIRCUIT_BREAKER_OFF(worker.name, why)
      }
      return manage({ action: 'circuit.reset', target: `worker:${worker.name}` }, async (note) => {
        const { before, after } = await shared.change(worker.name, (circuits) => (Object.keys(circuits).length === 0 ? circuits : {}))
        note({ before, after })
        if (before !== after) onReset(worker.name, before)
        return statusOf(worker, after)
      })
    },
  }
}

const iso = (ms: number): string => new Date(ms).toISOString()

function viewOf(key: string, circuit: Circuit, { probes: needed }: BreakerRules, now: number): CircuitView {
  const { state, since, openings, reason } = circuit
  const half = state === 'half-open' ? circuit : undefined
  const running = Object.values(half?.probes ?? {}).filter(({ until }) => until > now).length
  return {
    jobName: key === '' ? null : key,
    state,
    since: iso(since),
    until: state === 'open' ? iso(circuit.until) : null,
    openings,
    probes: { running, passed: half?.passed ?? 0, needed },
    reason,
  }
}
