import { type BreakerRules, openFor } from './rules.js'

/** A job that runs to test whether the worker has recovered. */
export interface Probe {
  /** Node that runs the job. */
  readonly node: string
  /** End of its lease, which the node renews, in ms since 1970. */
  readonly until: number
}

interface NotClosed {
  /** When it first opened, in ms since 1970. */
  readonly since: number
  /** Number of consecutive openings, from 1. */
  readonly openings: number
  /** Why it opened, as a sentence. */
  readonly reason: string
}

export interface OpenCircuit extends NotClosed {
  readonly state: 'open'
  /** When probes may run, in ms since 1970. */
  readonly until: number
}

export interface HalfOpenCircuit extends NotClosed {
  readonly state: 'half-open'
  /** Probes that have succeeded. */
  readonly passed: number
  /** Running probes by job id. */
  readonly probes: Readonly<Record<string, Probe>>
}

/** A circuit that is not closed. */
export type Circuit = OpenCircuit | HalfOpenCircuit
export type CircuitState = 'closed' | Circuit['state']

/** Whether an attempt may run: freely, as a probe (`next` is the resulting circuit), or only after `waitMs`. */
export type Admission =
  | { readonly as: 'free' }
  | { readonly as: 'probe'; readonly next: HalfOpenCircuit }
  | { readonly as: 'delayed'; readonly waitMs: number }

/** A process that does not renew the lease of a probe within this time is considered dead, in ms. */
export const leaseMs = 45_000

/** How long jobs wait while probes run: a sixth of the time that the circuit was open, within these limits in ms. */
const shortestWait = 100
const longestProbeWait = 30_000
/** Maximum delay of a job, in ms, so that it runs soon after a reset. */
const longestWait = 60_000

export function opened(reason: string, now: number, rules: BreakerRules): OpenCircuit {
  return { state: 'open', since: now, until: now + openFor(rules, 1), openings: 1, reason }
}

/** Clocks of processes may differ by this much, in ms. A time that is further ahead than its span was written by a clock that went back. */
const clockToleranceMs = 60_000
const isAhead = (until: number, now: number, spanMs: number): boolean => until > now && until - now <= spanMs + clockToleranceMs

/** Decides whether a job may run on `node`. */
export function admit(circuit: Circuit | undefined, job: string, node: string, now: number, rules: BreakerRules): Admission {
  if (circuit === undefined) return { as: 'free' }
  if (circuit.state === 'open' && isAhead(circuit.until, now, openFor(rules, circuit.openings)))
    return { as: 'delayed', waitMs: Math.min(circuit.until - now, longestWait) }
  const { passed = 0, probes = {} } = circuit.state === 'open' ? {} : circuit
  const others = Object.entries(probes).filter(([id, { until }]) => id !== job && isAhead(until, now, leaseMs))
  if (passed + others.length >= rules.probes) {
    return { as: 'delayed', waitMs: Math.min(Math.max(openFor(rules, circuit.openings) / 6, shortestWait), longestProbeWait) }
  }
  const { since, openings, reason } = circuit
  const running = Object.fromEntries([...others, [job, { node, until: now + leaseMs }]])
  return { as: 'probe', next: { state: 'half-open', since, openings, reason, passed, probes: running } }
}

export type ProbeOutcome = 'passed' | 'failed' | 'none'

/** Returns the circuit after a probe has ended; undefined if closed. Jobs that are not probes change nothing. */
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

/** Returns the circuit with renewed leases for these jobs. */
export function renewed(circuit: Circuit, jobs: ReadonlySet<string>, now: number): Circuit {
  if (circuit.state !== 'half-open') return circuit
  const probes = Object.entries(circuit.probes).map(([job, probe]) => [job, jobs.has(job) ? { ...probe, until: now + leaseMs } : probe])
  return { ...circuit, probes: Object.fromEntries(probes) }
}
