import { type BreakerRules, openFor } from './rules.js'

/** A job that runs to try whether the worker works again. */
export interface Probe {
  /** The node that runs it. */
  readonly node: string
  /** End of its lease, which the node renews: ms since 1970. */
  readonly until: number
}

interface NotClosed {
  /** When it opened first, ms since 1970. */
  readonly since: number
  /** How often it opened in a row, from 1. */
  readonly openings: number
  /** Why it opened, as a sentence. */
  readonly reason: string
}

export interface OpenCircuit extends NotClosed {
  readonly state: 'open'
  /** When probes may run, ms since 1970. */
  readonly until: number
}

export interface HalfOpenCircuit extends NotClosed {
  readonly state: 'half-open'
  /** Probes that have succeeded. */
  readonly passed: number
  /** Those that run, by job. */
  readonly probes: Readonly<Record<string, Probe>>
}

/** A circuit that is not closed. */
export type Circuit = OpenCircuit | HalfOpenCircuit
export type CircuitState = 'closed' | Circuit['state']

/** Whether an attempt may run: freely, as a probe, or not before `waitMs`. `next` is the circuit that it leaves. */
export type Admission =
  | { readonly as: 'free' }
  | { readonly as: 'probe'; readonly next: HalfOpenCircuit }
  | { readonly as: 'delayed'; readonly waitMs: number }

/** A process that does not renew the lease of a probe within this time has died, in ms. */
export const leaseMs = 45_000

/** How long jobs wait while probes run: a sixth of the time that the circuit was open, within these limits in ms. */
const shortestWait = 100
const longestProbeWait = 30_000
/** A job looks again after this time, in ms: it must not wait for ten minutes when the circuit was reset. */
const longestWait = 60_000

export function opened(reason: string, now: number, rules: BreakerRules): OpenCircuit {
  return { state: 'open', since: now, until: now + openFor(rules, 1), openings: 1, reason }
}

/** Whether a job may run on `node`. */
export function admit(circuit: Circuit | undefined, job: string, node: string, now: number, rules: BreakerRules): Admission {
  if (circuit === undefined) return { as: 'free' }
  if (circuit.state === 'open' && circuit.until > now) return { as: 'delayed', waitMs: Math.min(circuit.until - now, longestWait) }
  const { passed = 0, probes = {} } = circuit.state === 'open' ? {} : circuit
  const others = Object.entries(probes).filter(([id, { until }]) => id !== job && until > now)
  if (passed + others.length >= rules.probes) {
    return { as: 'delayed', waitMs: Math.min(Math.max(openFor(rules, circuit.openings) / 6, shortestWait), longestProbeWait) }
  }
  const { since, openings, reason } = circuit
  const running = Object.fromEntries([...others, [job, { node, until: now + leaseMs }]])
  return { as: 'probe', next: { state: 'half-open', since, openings, reason, passed, probes: running } }
}

export type ProbeOutcome = 'passed' | 'failed' | 'none'

/** The circuit after a probe has ended; undefined: closed. A job that is no probe changes nothing. */
export function afterProbe(
  circuit: Circuit | undefined,
  job: string,
  outcome: ProbeOutcome,
  now: number,
  rules: BreakerRules,
): Circuit | undefined {
  if (circuit?.state !== 'half-open' || !Object.hasOwn(circuit.probes, job)) return circuit
  const { since, openings, reason } = circuit
  if (outcome === 'failed') {
    return { state: 'open', since, until: now + openFor(rules, openings + 1), openings: openings + 1, reason }
  }
  const passed = circuit.passed + (outcome === 'passed' ? 1 : 0)
  if (passed >= rules.probes) return undefined
  const { [job]: _, ...probes } = circuit.probes
  return { ...circuit, passed, probes }
}

/** The circuit with new leases for these jobs. */
export function renewed(circuit: Circuit, jobs: ReadonlySet<string>, now: number): Circuit {
  if (circuit.state !== 'half-open') return circuit
  const probes = Object.entries(circuit.probes).map(([job, probe]) => [job, jobs.has(job) ? { ...probe, until: now + leaseMs } : probe])
  return { ...circuit, probes: Object.fromEntries(probes) }
}
