import type { Clock, Disposer, Logger } from 'zin'
import type { CheckKind, HealthCheck, HealthChecks } from './contract.js'
import { healthErrors } from './errors.js'
import { Probe, type ProbeLimits, type Reading } from './probe.js'

/** A check with its latest reading. */
export interface Finding {
  readonly name: string
  readonly kind: CheckKind
  readonly reading: Reading
  /** Whether it makes the app not ready. */
  readonly blocks: boolean
}

interface Entry {
  readonly name: string
  readonly kind: CheckKind
  readonly probe: Probe
  /** `degrade`: blocks until it has passed once. */
  readonly policy: 'critical' | 'degrade' | 'warn'
}

export type BoardLimits = Omit<ProbeLimits, 'timeoutMs'>

const grammar = /^[a-z0-9][a-z0-9-]{0,63}$/
const defaultTimeoutMs = 2000
/** Names of this plugin's own checks. */
const reserved: ReadonlySet<string> = new Set(['database', 'database-writes', 'cache', 'plugins', 'clock'])

/** All checks of the app, and the probes that run them. */
export class CheckBoard implements HealthChecks {
  readonly #entries = new Map<string, Entry>()
  readonly #limits: BoardLimits
  readonly #clock: Clock
  readonly #log: Logger

  constructor(limits: BoardLimits, clock: Clock, log: Logger) {
    this.#limits = limits
    this.#clock = clock
    this.#log = log
  }

  register(check: HealthCheck): Disposer {
    if (!grammar.test(check.name) || reserved.has(check.name)) throw healthErrors.HEALTH_CHECK_NAME_INVALID(check.name)
    return this.add(check, check.critical === false ? 'warn' : 'critical')
  }

  /**
   * Adds a check without validating its name; used for the plugin's own checks.
   *
   * @param reports Whether failed runs are logged.
   */
  add(check: HealthCheck, policy: Entry['policy'], reports = true): Disposer {
    const { name, kind, timeoutMs = defaultTimeoutMs } = check
    if (this.#entries.has(name)) throw healthErrors.HEALTH_CHECK_EXISTS(name)
    const probe = new Probe(check, { ...this.#limits, timeoutMs }, this.#clock, (reading, recovered) => {
      if (reports) this.#report(name, reading, recovered)
    })
    const entry: Entry = { name, kind, probe, policy: kind === 'info' ? 'warn' : policy }
    this.#entries.set(name, entry)
    return () => {
      if (this.#entries.get(name) !== entry) return
      this.#entries.delete(name)
      probe.close()
    }
  }

  /** Runs the matching checks in parallel; omits those with nothing to check. */
  async run(wanted: (entry: { readonly name: string; readonly kind: CheckKind }) => boolean): Promise<readonly Finding[]> {
    const findings = await Promise.all(
      [...this.#entries.values()].filter(wanted).map(async (entry) => finding(entry, await entry.probe.run())),
    )
    return findings.filter(({ reading }) => reading.present)
  }

  /** The latest results, without running any check. */
  last(wanted: (entry: { readonly name: string; readonly kind: CheckKind }) => boolean): readonly Finding[] {
    return [...this.#entries.values()]
      .filter(wanted)
      .flatMap((entry) => (entry.probe.last?.present ? [finding(entry, entry.probe.last)] : []))
  }

  /** Whether every startup check has passed at least once; those that have are not run again. */
  async started(): Promise<boolean> {
    const waiting = [...this.#entries.values()].filter(
      ({ kind, probe, policy }) => kind === 'startup' && policy !== 'warn' && !probe.everPassed,
    )
    const readings = await Promise.all(waiting.map(({ probe }) => probe.run()))
    return readings.every((reading) => reading.ok)
  }

  close(): void {
    for (const { probe } of this.#entries.values()) probe.close()
    this.#entries.clear()
  }

  #report(check: string, reading: Reading, recovered: boolean): void {
    const facts = { check, responseTime: reading.responseTime }
    if (!reading.ok) this.#log.error({ ...facts, reason: reading.error }, 'health check failed')
    else if (recovered) this.#log.info(facts, 'health check passes again')
  }
}

function finding({ name, kind, probe, policy }: Entry, reading: Reading): Finding {
  const tolerated = policy === 'warn' || reading.measured?.warns === true || (policy === 'degrade' && probe.everPassed)
  return { name, kind, reading, blocks: !reading.ok && !tolerated }
}
