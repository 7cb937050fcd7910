import { type Clock, type Logger, messageOf } from 'zin'
import type { AttemptEnd, AttemptOutcome, JobContext, JobMiddleware } from 'zin/plugins/workers'
import { type Admission, admit, afterProbe, type Circuit, opened, type ProbeOutcome, renewed } from './circuit.js'
import { whyOpened } from './circuit-text.js'
import { Guard } from './guard.js'
import type { BreakerRules } from './rules.js'
import type { Changed, Circuits, SharedCircuits } from './shared-circuits.js'
import type { Evidence } from './window.js'

/** A change of a circuit, to be published. */
export interface Transition {
  readonly worker: string
  /** Key of the circuit; empty for the circuit of the worker. */
  readonly key: string
  readonly before: Circuit | undefined
  readonly after: Circuit | undefined
  readonly rules: BreakerRules
  /** Set when the circuit opens. */
  readonly evidence?: Evidence
}

export interface GuardsOptions {
  readonly shared: SharedCircuits
  readonly node: string
  readonly clock: Clock
  readonly log: Logger
  /** Attaches the middleware and listeners to attempts; returns a function that detaches them. */
  readonly attach: () => () => void
  readonly onTransition: (transition: Transition) => void
  /** Returns a random number, 0–1, for jitter. */
  readonly random: () => number
}

const outcomes: Readonly<Record<AttemptOutcome, ProbeOutcome>> = {
  completed: 'passed',
  failed: 'failed',
  lost: 'failed',
  timedOut: 'failed',
  cancelled: 'none',
  deferred: 'none',
}

/** How long a job is delayed if the store is unavailable, in ms. */
const awayMs = 5_000

/** Workers of this process that have a circuit breaker. Without any, nothing is attached to attempts. */
export class Guards {
  readonly #options: GuardsOptions
  readonly #guards = new Map<string, Guard>()
  #detach: (() => void) | undefined
  #isDown = false

  constructor(options: GuardsOptions) {
    this.#options = options
  }

  get all(): readonly Guard[] {
    return [...this.#guards.values()]
  }

  get(worker: string): Guard | undefined {
    return this.#guards.get(worker)
  }

  /** Starts guarding a worker with these rules, and reads its circuits. */
  async add(worker: string, rules: BreakerRules): Promise<void> {
    const known = this.#guards.get(worker)
    if (known !== undefined && known.rules.perJobName !== rules.perJobName) await this.#options.shared.clear(worker)
    const guard = known ?? new Guard(worker, rules)
    guard.rules = rules
    this.#guards.set(worker, guard)
    this.#detach ??= this.#options.attach()
    await this.refresh(worker)
  }

  remove(worker: string): void {
    this.#guards.delete(worker)
    if (this.#guards.size === 0) this.close()
  }

  close(): void {
    this.#guards.clear()
    this.#detach?.()
    this.#detach = undefined
  }

  /** Reloads the circuits of a worker. */
  async refresh(worker: string): Promise<void> {
    const guard = this.#guards.get(worker)
    if (guard === undefined) return
    await this.#withStore(async () => guard.set(await this.#options.shared.read(worker)))
  }

  /** Reloads all circuits, in one round trip per 500 workers. */
  async poll(): Promise<void> {
    const guards = this.all
    if (guards.length === 0) return
    const revisions = guards.map(({ revision }) => revision)
    await this.#withStore(async () => {
      const found = await this.#options.shared.readMany(guards.map(({ worker }) => worker))
      for (const [index, guard] of guards.entries()) if (guard.revision === revisions[index]) guard.set(found[index] ?? {})
    })
  }

  /** Renews the leases of the probes running in this process. */
  async renew(): Promise<void> {
    const now = this.#options.clock.now()
    for (const guard of this.#guards.values()) {
      if (guard.probes.size === 0) continue
      const jobs = new Set(guard.probes.keys())
      await this.#withStore(() =>
        this.#change(guard, (circuits) =>
          Object.fromEntries(Object.entries(circuits).map(([key, circuit]) => [key, renewed(circuit, jobs, now)])),
        ),
      )
    }
  }

  /** Middleware of attempts. With a closed circuit, it costs two lookups. */
  readonly middleware: JobMiddleware = (context, next) => {
    const guard = this.#guards.get(context.worker)
    if (guard === undefined) return next()
    const { job } = context
    const key = guard.keyOf(job.name)
    if (guard.circuitOf(key) === undefined) return next()
    return this.#runOrDelay(guard, key, context, next)
  }

  /** Counts an attempt, and opens the circuit if a rule is met. Creates no promise if no circuit changes. */
  readonly attemptEnded = ({ worker, job, outcome }: Pick<AttemptEnd, 'worker' | 'job' | 'outcome'>): void | Promise<void> => {
    const guard = this.#guards.get(worker)
    if (guard === undefined) return
    const key = guard.probes.get(job.id) ?? guard.keyOf(job.name)
    const circuit = guard.circuitOf(key)
    guard.probes.delete(job.id)
    if (circuit === undefined) return this.#count(guard, key, job.id, outcomes[outcome])
    if (circuit.state === 'half-open' && Object.hasOwn(circuit.probes, job.id)) return this.#endProbe(guard, key, job.id, outcomes[outcome])
  }

  async #runOrDelay(guard: Guard, key: string, { delay, job }: JobContext, next: () => Promise<unknown>): Promise<unknown> {
    const waitMs = await this.#admit(guard, key, job.id ?? '')
    return waitMs === 0 ? next() : delay(waitMs)
  }

  /** Returns 0 if the job may run, else its delay in ms. */
  async #admit(guard: Guard, key: string, job: string): Promise<number> {
    const { clock, node } = this.#options
    const ask = (circuits: Circuits): Admission => {
      const circuit = Object.hasOwn(circuits, key) ? circuits[key] : undefined
      return admit(circuit, job, node, clock.now(), guard.rules)
    }
    let admission = ask(guard.circuits)
    if (admission.as === 'probe') {
      try {
        const { before } = await this.#change(guard, (circuits) => {
          admission = ask(circuits)
          return admission.as === 'probe' ? { ...circuits, [key]: admission.next } : circuits
        })
        if (admission.as === 'probe') {
          guard.probes.set(job, key)
          if (before[key]?.state === 'open') this.#notify(guard, key, before[key], admission.next)
        }
      } catch (error) {
        this.#warn(error)
        return awayMs
      }
    }
    return admission.as === 'delayed' ? this.#spread(admission.waitMs) : 0
  }

  #count(guard: Guard, key: string, job: string, outcome: ProbeOutcome): void | Promise<void> {
    const { clock } = this.#options
    if (outcome === 'none') return
    if (outcome === 'passed') return guard.windowOf(key).complete(job, clock.monotonic(), guard.rules)
    const evidence = guard.windowOf(key).fail(job, clock.monotonic(), guard.rules)
    if (evidence !== undefined && !guard.opening.has(key)) return this.#open(guard, key, evidence)
  }

  async #open(guard: Guard, key: string, evidence: Evidence): Promise<void> {
    const { clock } = this.#options
    const circuit = opened(whyOpened(evidence, guard.rules), clock.now(), guard.rules)
    guard.opening.add(key)
    await this.#withStore(async () => {
      const { before, after } = await this.#change(guard, (circuits) =>
        Object.hasOwn(circuits, key) ? circuits : { ...circuits, [key]: circuit },
      )
      if (before !== after) this.#notify(guard, key, undefined, circuit, evidence)
    })
    guard.opening.delete(key)
  }

  async #endProbe(guard: Guard, key: string, job: string, outcome: ProbeOutcome): Promise<void> {
    const { clock } = this.#options
    await this.#withStore(async () => {
      const { before, after } = await this.#change(guard, (circuits) => {
        const circuit = Object.hasOwn(circuits, key) ? circuits[key] : undefined
        const next = afterProbe(circuit, job, outcome, clock.now(), guard.rules)
        if (next === circuit) return circuits
        const { [key]: _, ...others } = circuits
        return next === undefined ? others : { ...others, [key]: next }
      })
      if (before[key] !== undefined && before[key]?.state !== after[key]?.state) this.#notify(guard, key, before[key], after[key])
    })
  }

  async #change(guard: Guard, step: (circuits: Circuits) => Circuits): Promise<Changed> {
    const changed = await this.#options.shared.change(guard.worker, step)
    guard.set(changed.after)
    return changed
  }

  #notify({ worker, rules }: Guard, key: string, before: Circuit | undefined, after: Circuit | undefined, evidence?: Evidence): void {
    this.#options.onTransition({ worker, key, before, after, rules, ...(evidence === undefined ? {} : { evidence }) })
  }

  /** Adds up to 10 % jitter, so that delayed jobs do not return all at once. */
  #spread(waitMs: number): number {
    return Math.max(1, Math.ceil(waitMs * (1 + this.#options.random() / 10)))
  }

  /** Runs work that needs the store; if that fails, logs a warning and keeps the circuits unchanged. */
  async #withStore(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
      this.#isDown = false
    } catch (error) {
      this.#warn(error)
    }
  }

  #warn(error: unknown): void {
    if (!this.#isDown) this.#options.log.warn({ err: error }, `circuits keep their state because the store failed: ${messageOf(error)}`)
    this.#isDown = true
  }
}
