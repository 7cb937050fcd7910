import type { Clock } from 'zin'
import type { ServiceAuth } from '../auth/contract.js'
import type { ServiceDefinition } from '../definitions/definition.js'
import type { Instance } from './instance.js'

export interface HealthRules {
  readonly intervalMs: number
  readonly timeoutMs: number
  readonly failAfter: number
  readonly passAfter: number
}

export interface HealthPollOptions {
  readonly definition: ServiceDefinition
  readonly instance: Instance
  readonly rules: HealthRules
  readonly auth: ServiceAuth
  readonly clock: Clock
  readonly random: () => number
  /** Whether this process needs the state of the instance now; a check is skipped otherwise. */
  isNeeded(): boolean
  onFailed(reason: string): void
  onPassed(): void
}

const maxBytes = 65_536

/** Checks the health of one instance periodically; a change needs several results in a row. Returns a function that stops the checks. */
export function pollHealth(options: HealthPollOptions): () => void {
  const { rules, clock, random } = options
  let timer: NodeJS.Timeout | undefined
  let ended = false
  let failed = 0
  let passed = 0
  const check = async (): Promise<void> => {
    if (!options.isNeeded()) return plan()
    const began = clock.monotonic()
    const problem = await healthProblem(options).catch((error: unknown) => String(error))
    if (ended) return
    // This process was too busy to read the response in time, so a failure says nothing about the instance.
    const starved = clock.monotonic() - began > rules.timeoutMs * 1.5
    if (problem === undefined) {
      failed = 0
      if (++passed >= rules.passAfter) options.onPassed()
    } else if (!starved) {
      passed = 0
      if (++failed >= rules.failAfter) options.onFailed(problem)
    }
    plan()
  }
  const plan = (): void => {
    timer = setTimeout(() => void check(), rules.intervalMs * (0.8 + 0.4 * random())).unref()
  }
  plan()
  return () => {
    ended = true
    clearTimeout(timer)
  }
}

async function healthProblem({ auth, definition, instance, rules }: HealthPollOptions): Promise<string | undefined> {
  const path = definition.healthCheck
  const request = { method: 'GET', path, body: undefined, maxBytes, timeoutMs: rules.timeoutMs }
  const result = await instance.connections.send({ ...request, headers: await auth.credentials(request) })
  if (result.type === 'timeout') return `no response from ${path} within ${rules.timeoutMs} ms`
  if (result.type === 'too-large') return `${path} responded with more than ${maxBytes} bytes`
  if (result.type !== 'response') return result.error.message
  const { statusCode: status = 0 } = result.response
  return status >= 200 && status < 300 ? undefined : `${path} responded ${status}`
}
