import type { ServiceCalls } from '../contract.js'
import type { ServiceDefinition } from '../definitions/definition.js'
import type { MicroservicesOptions } from '../options.js'
import { startChild } from './child-process.js'
import type { ChildStart } from './child-protocol.js'
import type { RegisteredService } from './registered-service.js'
import type { Runner } from './runner.js'
import { type ServiceAppOptions, startServiceApp } from './service-app.js'
import type { StateFeed } from './state-feed.js'

export interface RunnerOptions extends Omit<ServiceAppOptions, 'definition' | 'port' | 'calls'> {
  /** Whether this process runs services. */
  readonly runsHere: boolean
  readonly calls: () => ServiceCalls
  /** All services, for instances in child processes. */
  readonly services: () => readonly RegisteredService[]
  /** Receives the feed of each child process while it runs. */
  readonly feeds: Set<StateFeed>
  readonly options: MicroservicesOptions
  readonly tracing: { readonly enabled: boolean; readonly samplingRate: number }
}

/** Returns a function that gives the runner of a service, or undefined if the service does not run here. */
export function createRunner({ runsHere, ...given }: RunnerOptions): (definition: ServiceDefinition) => Runner | undefined {
  const failures = new Map<ServiceDefinition, number>()
  return (definition) => {
    if (definition.local === undefined || !runsHere) return undefined
    if (definition.local.process === 'own')
      return (port, onLost) =>
        startChild(childStart(definition, port, given), {
          env: { ...given.env },
          feeds: given.feeds,
          log: given.log,
          onLost,
          startTimeoutMs: given.options.startTimeoutMs,
          takeNonce: given.auth.takeNonce,
        })
    return async (port) => {
      const failed = failures.get(definition) ?? 0
      try {
        const app = await startServiceApp({ ...given, definition, port, calls: given.calls(), failures: failed })
        return { stop: async () => void (await app.stop()) }
      } catch (error) {
        failures.set(definition, failed + 1)
        throw error
      }
    }
  }
}

/** Contains only data: functions of the options cannot be sent. */
function childStart(
  definition: ServiceDefinition,
  port: number,
  { app, auth, log, options, services, tracing }: Omit<RunnerOptions, 'runsHere'>,
): ChildStart {
  const { authenticate: _authenticate, credentials: _credentials, services: _services, ...plain } = options
  const { SERVICE_API_KEY, SERVICE_JWT_SECRET, SERVICE_SIGNING_SECRET } = auth.secrets
  const { dataDir, environment, name } = app
  // The child has no `credentials` function, so it cannot call services with the strategy custom.
  const others = services().filter((other) => other.definition.auth !== 'custom')
  return {
    type: 'start',
    definition,
    others: others.map((other) => other.definition),
    states: others.flatMap((other) => other.states()),
    port,
    app: { dataDir, environment, name },
    caller: auth.caller,
    logLevel: log.level,
    secrets: { SERVICE_API_KEY, SERVICE_JWT_SECRET, SERVICE_SIGNING_SECRET },
    options: plain,
    tracing,
  }
}
