import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, messageOf } from 'zin'
import type { ServiceAuth } from '../auth/contract.js'
import type { ServiceCall, ServiceResponse } from '../contract.js'
import { microserviceErrors } from '../errors.js'
import type { CallMetrics } from '../metrics.js'
import type { Instance } from '../run/instance.js'
import type { RegisteredService } from '../run/registered-service.js'
import type { Scopes } from '../tracing/scopes.js'
import type { CircuitTransition } from './circuit.js'
import { encodeBody, readData } from './payload.js'
import { isRepeatable, isTransient, waitBefore } from './retry.js'
import { type BudgetRules, RetryBudget } from './retry-budget.js'
import { headersProblem, methodProblem, targetProblem } from './target.js'
import type { WireRequest, WireResult } from './transport.js'

export interface CallRules {
  readonly timeoutMs: number
  readonly maxResponseBytes: number
  readonly maxInFlight: number
  readonly retries: number
  readonly retryBudget: BudgetRules
  readonly propagateDeadline: boolean
}

export interface CallerOptions {
  readonly rules: CallRules
  readonly auth: (service: RegisteredService) => ServiceAuth
  readonly scopes: Scopes
  readonly clock: Clock
  readonly random: () => number
  readonly metrics: Pick<CallMetrics, 'ended' | 'retried'>
  readonly onTransition: (service: RegisteredService, instance: Instance, transition: CircuitTransition) => void
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Calls services with a bulkhead, a deadline, and retries on healthy instances (round-robin), each guarded by the instance's circuit. */
export class Caller {
  readonly #options: CallerOptions
  readonly #budgets = new Map<string, RetryBudget>()

  constructor(options: CallerOptions) {
    this.#options = options
  }

  async call(service: RegisteredService, call: ServiceCall): Promise<ServiceResponse> {
    const { clock, metrics } = this.#options
    const began = clock.monotonic()
    try {
      const response = await this.#call(service, call)
      metrics.ended(service.name, response.status, clock.monotonic() - began)
      return response
    } catch (error) {
      metrics.ended(service.name, error, clock.monotonic() - began)
      throw error
    }
  }

  async #call(service: RegisteredService, call: ServiceCall): Promise<ServiceResponse> {
    const { name, state } = service
    const { method = 'GET', path, headers = {} } = call
    const problem = methodProblem(method) ?? targetProblem(path) ?? headersProblem(headers)
    if (problem !== undefined) throw microserviceErrors.SERVICE_INVALID_TARGET(name, problem)
    if (state !== 'running') throw microserviceErrors.SERVICE_NOT_RUNNING(name, state)
    const { maxInFlight } = this.#options.rules
    if (service.inFlight >= maxInFlight) throw microserviceErrors.SERVICE_BUSY(name, maxInFlight)
    service.inFlight++
    try {
      return await this.#attempts(service, call, method)
    } finally {
      service.inFlight--
    }
  }

  async #attempts(
    service: RegisteredService,
    { path, timeout, headers = {}, body }: ServiceCall,
    method: string,
  ): Promise<ServiceResponse> {
    const { clock, random, rules, scopes } = this.#options
    const scope = scopes.current
    const began = clock.monotonic()
    const waitsMs = Math.min(timeout ?? rules.timeoutMs, (scope?.deadline ?? Number.POSITIVE_INFINITY) - began)
    if (!(waitsMs > 0)) throw microserviceErrors.SERVICE_TIMEOUT(service.name, Math.max(0, waitsMs))
    const deadline = began + waitsMs
    const budget = this.#budgetOf(service)
    budget.call(began)
    const most = scope?.isRetry !== true && isRepeatable(method, headers) ? rules.retries : 0
    const encoded = encodeBody(body, headers)
    const tried = new Set<Instance>()
    for (let attempt = 0; ; attempt++) {
      const instance = this.#pick(service, tried)
      tried.add(instance)
      const request = { method, path, headers: encoded.headers, body: encoded.body }
      const result = await this.#attempt(service, instance, request, deadline, attempt)
      if (attempt >= most || !isTransient(result) || !this.#canPick(service)) return this.#ended(service, result, waitsMs)
      const now = clock.monotonic()
      const waitMs = waitBefore(attempt + 1, result, random())
      if (now + waitMs >= deadline || !budget.retry(now)) return this.#ended(service, result, waitsMs)
      await delay(waitMs)
      if (!this.#canPick(service)) return this.#ended(service, result, waitsMs)
      this.#options.metrics.retried(service.name)
    }
  }

  async #attempt(
    service: RegisteredService,
    instance: Instance,
    request: Pick<WireRequest, 'method' | 'path' | 'headers' | 'body'>,
    deadline: number,
    attempt: number,
  ): Promise<WireResult> {
    const { auth, clock, random, rules } = this.#options
    // Keep the circuit of this attempt: a restart of the instance replaces it.
    const { circuit } = instance
    this.#note(service, instance, circuit.begin())
    const probe = circuit.state === 'half-open'
    instance.inFlight++
    instance.calledAt = clock.monotonic()
    let outcome: WireResult | undefined
    try {
      const credentials = await auth(service).credentials(request)
      const timeoutMs = deadline - clock.monotonic()
      const headers = {
        ...request.headers,
        ...credentials,
        ...(rules.propagateDeadline ? { 'x-timeout-ms': String(Math.max(1, Math.floor(timeoutMs))) } : {}),
        ...(attempt > 0 ? { 'x-retry-attempt': String(attempt) } : {}),
      }
      outcome = await instance.connections.send({ ...request, headers, maxBytes: rules.maxResponseBytes, timeoutMs })
      return outcome
    } finally {
      instance.inFlight--
      this.#note(service, instance, circuit.end(outcomeOf(outcome), clock.monotonic(), random(), probe))
    }
  }

  /** Returns the next instance whose circuit allows calls, preferring instances not tried yet. */
  #pick(service: RegisteredService, tried: ReadonlySet<Instance>): Instance {
    const now = this.#options.clock.monotonic()
    const running = service.inTurn()
    const open = running.filter(({ circuit }) => circuit.blockedMs(now) === 0)
    const next = open.find((instance) => !tried.has(instance)) ?? open[0]
    if (next !== undefined) return next
    if (running.length === 0) throw microserviceErrors.SERVICE_NOT_RUNNING(service.name, service.state)
    const waits = running.map(({ circuit }) => circuit.blockedMs(now)).filter(Number.isFinite)
    throw microserviceErrors.SERVICE_CIRCUIT_OPEN(service.name, waits.length === 0 ? 1000 : Math.min(...waits))
  }

  #canPick(service: RegisteredService): boolean {
    const now = this.#options.clock.monotonic()
    return service.instances.some(({ state, circuit }) => state === 'running' && circuit.blockedMs(now) === 0)
  }

  #ended({ name }: RegisteredService, result: WireResult, waitsMs: number): ServiceResponse {
    switch (result.type) {
      case 'timeout':
        throw microserviceErrors.SERVICE_TIMEOUT(name, waitsMs)
      case 'too-large':
        throw microserviceErrors.SERVICE_RESPONSE_TOO_LARGE(name, this.#options.rules.maxResponseBytes)
      case 'refused':
        throw result.error
      case 'connect':
      case 'lost':
        throw microserviceErrors.SERVICE_UNREACHABLE(name, messageOf(result.error), result.error, result.sent)
      case 'response': {
        const { headers, statusCode: status = 0 } = result.response
        if (redirects.has(status) && headers.location !== undefined)
          throw microserviceErrors.SERVICE_INVALID_TARGET(name, `it responded with a redirect (${status}), and redirects are not followed`)
        return { status, headers, data: readData(headers['content-type'], result.body) }
      }
    }
  }

  #budgetOf({ name }: RegisteredService): RetryBudget {
    const known = this.#budgets.get(name) ?? new RetryBudget(this.#options.rules.retryBudget)
    this.#budgets.set(name, known)
    return known
  }

  #note(service: RegisteredService, instance: Instance, transition: CircuitTransition | undefined): void {
    if (transition !== undefined) this.#options.onTransition(service, instance, transition)
  }
}

/** Counts only statuses of 500 and above as failures: a 4xx is the caller's fault. */
function outcomeOf(result: WireResult | undefined): 'ok' | 'failed' | 'connect-failed' {
  if (result?.type === 'response') return (result.response.statusCode ?? 0) >= 500 ? 'failed' : 'ok'
  if (result?.type === 'too-large') return 'ok'
  return result?.type === 'connect' ? 'connect-failed' : 'failed'
}
