import { defineOptions, functionOption, type OptionsOf, Type } from 'zin'

/** Options of `microservices()`. */
export type MicroservicesOptions = OptionsOf<typeof microservicesOptions>

/** A request that `authenticate` accepts or rejects. */
export interface CustomAuthRequest {
  /** Name of the service. */
  readonly service: string
  readonly method: string
  /** Path with query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

const strategy = Type.Enum(['api-key', 'jwt', 'none', 'custom', 'signed'], { type: 'string' })

/** Defaults for rules that an app leaves out of a group. */
const ruleDefaults = {
  retryBudget: { ratio: 0.2, perSecond: 3 },
  circuit: { minimumCalls: 20, failureRatio: 0.5, connectFailures: 5, openMs: 5000, maxOpenMs: 60_000 },
  health: { intervalMs: 10_000, timeoutMs: 2000, failAfter: 3, passAfter: 2 },
}

const registeredService = Type.Object(
  {
    url: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: 100 })])),
    auth: Type.Optional(strategy),
    ca: Type.Optional(Type.String({ minLength: 1 })),
    healthCheck: Type.Optional(Type.String()),
    version: Type.Optional(Type.String()),
    instances: Type.Optional(Type.Integer({ minimum: 1, maximum: 32 })),
    process: Type.Optional(Type.Enum(['own', 'shared'], { type: 'string' })),
  },
  { additionalProperties: false },
)

export type RegisteredService = Readonly<{
  url?: string | readonly string[]
  auth?: 'api-key' | 'jwt' | 'none' | 'custom' | 'signed'
  ca?: string
  healthCheck?: string
  version?: string
  instances?: number
  process?: 'own' | 'shared'
}>

export const microservicesOptions = defineOptions(
  Type.Object({
    services: Type.Record(Type.String(), registeredService, {
      default: {},
      description:
        'By service name. For a service that runs elsewhere: `url` (one or several), `auth`, `healthCheck`, `version`, and `ca`, a PEM file with the authority of its https certificate. For a discovered service: the number of `instances`, and `process`; `own` runs each instance in a child process, which is restarted when it exits. A discovered service with a `url` is not started here',
    }),
    directory: Type.String({ minLength: 1, default: 'src/services', description: 'Folder of the services, relative to the app' }),
    autoStart: Type.Boolean({ default: true, description: 'Whether services start with the app; otherwise call `startService`' }),
    host: Type.String({ minLength: 1, default: '127.0.0.1', description: 'Address that the services of this app bind to' }),
    basePort: Type.Integer({
      minimum: 1024,
      maximum: 65_000,
      default: 3001,
      description: 'First port for services that do not configure one',
    }),
    processes: Type.Enum(['own', 'shared'], {
      type: 'string',
      default: 'shared',
      description: 'Default for `process` in `services`. `own`: each instance runs in a child process; `shared`: in the process of the app',
    }),
    timeoutMs: Type.Integer({
      minimum: 1,
      maximum: 600_000,
      default: 5000,
      description: 'Deadline of a call over all its attempts, in ms',
    }),
    startTimeoutMs: Type.Integer({
      minimum: 100,
      maximum: 600_000,
      default: 20_000,
      description: 'Time limit for starting a service, in ms',
    }),
    restarts: Type.Integer({
      minimum: 0,
      maximum: 1000,
      default: 20,
      description:
        'Restarts in a row of an instance that failed to start or exited unexpectedly: after 0.2 s, then 0.4 s and so on, up to 30 s. After the last one it stays `failed`',
    }),
    maxResponseBytes: Type.Integer({ minimum: 1, maximum: 1_073_741_824, default: 10_485_760, description: 'Largest response, in bytes' }),
    maxInFlight: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      default: 50,
      description: 'Maximum number of calls of a service in flight',
    }),
    retries: Type.Integer({ minimum: 0, maximum: 10, default: 2, description: 'Maximum number of retries of a call that can be repeated' }),
    retryBudget: Type.Object(
      {
        ratio: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
        perSecond: Type.Optional(Type.Number({ minimum: 0, maximum: 1000 })),
      },
      {
        additionalProperties: false,
        default: ruleDefaults.retryBudget,
        description: 'Retry budget of a service over 10 s: `ratio` × its calls, plus `perSecond`. Omitted rules keep their defaults',
      },
    ),
    circuit: Type.Object(
      {
        minimumCalls: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
        failureRatio: Type.Optional(Type.Number({ minimum: 0.01, maximum: 1 })),
        connectFailures: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
        openMs: Type.Optional(Type.Integer({ minimum: 10, maximum: 3_600_000 })),
        maxOpenMs: Type.Optional(Type.Integer({ minimum: 10, maximum: 3_600_000 })),
      },
      {
        additionalProperties: false,
        default: ruleDefaults.circuit,
        description:
          'Opens the circuit of an instance when `failureRatio` of at least `minimumCalls` calls within 10 s failed, or after `connectFailures` failed connections in a row. It stays open for `openMs`, doubled up to `maxOpenMs` each time the probe fails. Omitted rules keep their defaults',
      },
    ),
    health: Type.Object(
      {
        intervalMs: Type.Optional(Type.Integer({ minimum: 10, maximum: 3_600_000 })),
        timeoutMs: Type.Optional(Type.Integer({ minimum: 10, maximum: 60_000 })),
        failAfter: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
        passAfter: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
      },
      {
        additionalProperties: false,
        default: ruleDefaults.health,
        description:
          'Health checks of each instance, every `intervalMs` ± 20 %: unhealthy after `failAfter` failures in a row, running again after `passAfter` successes. Omitted rules keep their defaults',
      },
    ),
    propagateDeadline: Type.Boolean({
      default: true,
      description: 'Whether calls send their remaining time as `x-timeout-ms`, which limits the calls that the service makes',
    }),
    restartTraces: Type.Boolean({
      default: false,
      description:
        'Starts a new trace for each request and logs the incoming one as `linkedTraceId`; for apps reachable from untrusted networks',
    }),
    authenticate: Type.Optional(
      functionOption<(request: CustomAuthRequest) => boolean | Promise<boolean>>({
        description: 'Returns whether a request to a service with the strategy `custom` is accepted',
      }),
    ),
    credentials: Type.Optional(
      functionOption<(service: string) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>>({
        description: 'Returns the headers for calls of services with the strategy `custom`',
      }),
    ),
  }),
)

/** Returns the groups of rules with their defaults filled in. */
export function rulesOf({
  circuit,
  health,
  retryBudget,
}: Partial<Pick<MicroservicesOptions, keyof typeof ruleDefaults>>): typeof ruleDefaults {
  return {
    retryBudget: { ...ruleDefaults.retryBudget, ...retryBudget },
    circuit: { ...ruleDefaults.circuit, ...circuit },
    health: { ...ruleDefaults.health, ...health },
  }
}
