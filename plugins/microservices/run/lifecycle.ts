import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, type Logger, messageOf, withDeadline } from 'zin'
import type { ServiceAuth } from '../auth/contract.js'
import { microserviceErrors } from '../errors.js'
import { type HealthRules, pollHealth } from './health-poll.js'
import type { Instance } from './instance.js'
import type { RegisteredService } from './registered-service.js'
import { restartWait } from './restart-wait.js'
import type { Runner, Running } from './runner.js'

export interface LifecycleOptions {
  /** Returns what starts an instance here; undefined if the service runs elsewhere. */
  readonly runner: (service: RegisteredService) => Runner | undefined
  readonly auth: (service: RegisteredService) => ServiceAuth
  readonly health: HealthRules
  /** Whether this process checks every instance, instead of those that it calls. */
  readonly checksAll: boolean
  readonly startTimeoutMs: number
  /** Maximum number of automatic restarts in a row. */
  readonly restarts: number
  /** Time limit for draining calls in flight at a stop, in ms. */
  readonly drainMs: number
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  onLost(service: RegisteredService, instance: Instance, reason: string): void
}

/** Uptime after which a crash no longer counts as part of the same series of restarts, in ms. */
const steadyMs = 60_000

/** A process that does not check every instance checks those that it has called within this time, in ms. */
const neededMs = 600_000

/** Resources of a started instance. */
interface Started {
  readonly running: Running | undefined
  readonly endPoll: () => void
  readonly at: number
}

/** Starts, monitors, restarts and stops the instances of services. Changes of one service run one at a time. */
export class Lifecycle {
  readonly #options: LifecycleOptions
  readonly #started = new Map<Instance, Started>()
  readonly #restarts = new Map<Instance, NodeJS.Timeout>()
  readonly #pending = new Map<RegisteredService, Promise<unknown>>()

  constructor(options: LifecycleOptions) {
    this.#options = options
  }

  start(service: RegisteredService): Promise<void> {
    return this.#inTurn(service, async () => {
      const results = await Promise.allSettled(service.instances.map((instance) => this.#start(service, instance)))
      const failure = results.find((result) => result.status === 'rejected')
      if (failure !== undefined) throw failure.reason
    })
  }

  stop(service: RegisteredService): Promise<void> {
    return this.#inTurn(service, async () => void (await Promise.all(service.instances.map((instance) => this.#stop(service, instance)))))
  }

  #inTurn<T>(service: RegisteredService, task: () => Promise<T>): Promise<T> {
    const next = (this.#pending.get(service) ?? Promise.resolve()).then(task, task)
    this.#pending.set(
      service,
      next.catch(() => undefined),
    )
    return next
  }

  async #start(service: RegisteredService, instance: Instance): Promise<void> {
    if (this.#started.has(instance)) return
    this.#cancelRestart(instance)
    instance.attempts = 0
    const runner = this.#options.runner(service)
    instance.renew()
    if (runner === undefined) this.#begun(service, instance, undefined)
    else await this.#run(service, instance, runner)
  }

  async #run(service: RegisteredService, instance: Instance, runner: Runner): Promise<void> {
    const { startTimeoutMs } = this.#options
    service.setState(instance, 'starting')
    const starting = runner(Number(new URL(instance.url).port), (reason) => this.#lost(service, instance, runner, reason))
    try {
      const running = await withDeadline(starting, startTimeoutMs, `it was not ready within ${startTimeoutMs} ms (option startTimeoutMs)`)
      this.#begun(service, instance, running)
    } catch (error) {
      // Stop an instance that becomes ready after its deadline.
      starting.then((late) => late.stop()).catch(() => undefined)
      service.setState(instance, 'failed', messageOf(error))
      this.#restart(service, instance, runner)
      throw microserviceErrors.SERVICE_START_FAILED(service.name, messageOf(error), error)
    }
  }

  #begun(service: RegisteredService, instance: Instance, running: Running | undefined): void {
    const { auth, checksAll, clock, health, random } = this.#options
    const endPoll = pollHealth({
      definition: service.definition,
      instance,
      rules: health,
      auth: auth(service),
      clock,
      random,
      // An unhealthy instance gets no calls, so only a check can end that.
      isNeeded: () => checksAll || instance.state === 'unhealthy' || clock.monotonic() - instance.calledAt < neededMs,
      onFailed: (reason) => {
        if (instance.state !== 'running') return
        service.setState(instance, 'unhealthy', reason)
        this.#options.onLost(service, instance, reason)
      },
      onPassed: () => {
        if (instance.state === 'unhealthy') service.setState(instance, 'running')
      },
    })
    this.#started.set(instance, { running, endPoll, at: clock.monotonic() })
    instance.pid = running?.pid
    service.setState(instance, 'running')
  }

  /** Handles an unexpected exit: other instances take the calls, and this one is restarted. */
  #lost(service: RegisteredService, instance: Instance, runner: Runner, reason: string): void {
    const started = this.#started.get(instance)
    if (started === undefined) return
    this.#forget(instance, started)
    service.setState(instance, 'starting', reason)
    this.#options.onLost(service, instance, reason)
    if (this.#options.clock.monotonic() - started.at > steadyMs) instance.attempts = 0
    this.#restart(service, instance, runner)
  }

  /** Schedules the next restart, or gives up after `restarts` attempts. */
  #restart(service: RegisteredService, instance: Instance, runner: Runner): void {
    const { clock, log, random, restarts } = this.#options
    if (instance.attempts >= restarts) {
      service.setState(
        instance,
        'failed',
        `${instance.reason ?? ''}; it is not restarted automatically any more (option restarts); use zin service:start`,
      )
      return
    }
    const waitMs = restartWait(instance.attempts++, random())
    const attempt = instance.attempts
    instance.retry = { attempt, of: restarts, at: new Date(clock.now() + waitMs).toISOString() }
    const run = async (): Promise<void> => {
      // It was stopped or started in the meantime.
      if (instance.state === 'stopped' || this.#started.has(instance)) return
      instance.restarts++
      instance.renew()
      await this.#run(service, instance, runner)
    }
    const timer = setTimeout(() => {
      this.#cancelRestart(instance)
      this.#inTurn(service, run).catch((error: unknown) =>
        log.error({ service: service.name, instance: instance.id, attempt, of: restarts }, messageOf(error)),
      )
    }, waitMs)
    this.#restarts.set(instance, timer.unref())
  }

  async #stop(service: RegisteredService, instance: Instance): Promise<void> {
    this.#cancelRestart(instance)
    const started = this.#started.get(instance)
    if (started !== undefined) {
      service.setState(instance, 'draining')
      const end = this.#options.clock.monotonic() + this.#options.drainMs
      while (instance.inFlight > 0 && this.#options.clock.monotonic() < end) await delay(10)
      this.#forget(instance, started)
      await started.running
        ?.stop()
        .catch((error: unknown) => this.#options.log.warn({ service: service.name, err: error }, messageOf(error)))
    }
    if (instance.state !== 'registered') service.setState(instance, 'stopped')
  }

  #forget(instance: Instance, { endPoll }: Started): void {
    this.#started.delete(instance)
    endPoll()
    instance.close()
    instance.pid = undefined
  }

  #cancelRestart(instance: Instance): void {
    clearTimeout(this.#restarts.get(instance))
    instance.retry = undefined
    this.#restarts.delete(instance)
  }
}
