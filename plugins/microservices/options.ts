import { defineOptions, functionOption, type OptionsOf, Type } from 'zin'

/** Options of `microservices()`. */
export type MicroservicesOptions = OptionsOf<typeof microservicesOptions>

/** The request that a custom strategy judges. */
export interface CustomAuthRequest {
  /** Name of the service. */
  readonly service: string
  readonly method: string
  /** Path with query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

const strategy = Type.Enum(['api-key', 'jwt', 'none', 'custom', 'signed'], { type: 'string' })

/** What applies where an app gives only some rules of a group. */
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
        'By name: `url` (or several) of a service that runs elsewhere, with its `auth`, `healthCheck` and `version`, and `ca`, a PEM file with the authority of its https certificate; of a discovered one that runs here, its number of `instances`, and `process`: `own` runs each in a process of its own, which is restarted when it ends. Where a discovered service has a `url`, it is not started here',
    }),
    directory: Type.String({ minLength: 1, default: 'src/services', description: 'Folder of the services, relative to the app' }),
    autoStart: Type.Boolean({ default: true, description: 'Whether services start with the app; else `startService` does it' }),
    host: Type.String({ minLength: 1, default: '127.0.0.1', description: 'Address that services of this app bind to' }),
    basePort: Type.Integer({
      minimum: 1024,
      maximum: 65_000,
      default: 3001,
      description: 'First port for services whose configuration names none',
    }),
    processes: Type.Enum(['own', 'shared'], {
      type: 'string',
      default: 'shared',
      description: '`own`: each service runs in a process of its own, unless `services` says otherwise; `shared`: in that of the app',
    }),
    timeoutMs: Type.Integer({ minimum: 1, maximum: 600_000, default: 5000, description: 'Longest time of a call, in ms' }),
    startTimeoutMs: Type.Integer({ minimum: 100, maximum: 600_000, default: 20_000, description: 'Longest start of a service, in ms' }),
    restarts: Type.Integer({
      minimum: 0,
      maximum: 1000,
      default: 20,
      description:
        'Further starts in a row of an instance that could not be started or has ended by itself: after 0.2 s, then 0.4 s and so on up to 30 s. Then it stays `failed`',
    }),
    maxResponseBytes: Type.Integer({ minimum: 1, maximum: 1_073_741_824, default: 10_485_760, description: 'Largest response, in bytes' }),
    maxInFlight: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      default: 50,
      description: 'Calls of a service without a response at a time',
    }),
    retries: Type.Integer({ minimum: 0, maximum: 10, default: 2, description: 'Further attempts of a call that can be repeated' }),
    retryBudget: Type.Object(
      {
        ratio: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
        perSecond: Type.Optional(Type.Number({ minimum: 0, maximum: 1000 })),
      },
      {
        additionalProperties: false,
        default: ruleDefaults.retryBudget,
        description:
          'Further attempts of all calls of a service within 10 s: `ratio` of its calls, and `perSecond` beside them. A rule that is left out keeps its default',
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
          'Opens the circuit of an instance when `failureRatio` of at least `minimumCalls` within 10 s failed, or after `connectFailures` in a row; for `openMs`, doubled up to `maxOpenMs` each time that the probe fails. A rule that is left out keeps its default',
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
          'Health checks of each instance, every `intervalMs` ± 20 %: unhealthy after `failAfter` failures in a row, running after `passAfter` successes. A rule that is left out keeps its default',
      },
    ),
    propagateDeadline: Type.Boolean({
      default: true,
      description: 'Whether calls tell the service in `x-timeout-ms` how long the caller waits, so that its own calls take no longer',
    }),
    restartTraces: Type.Boolean({
      default: false,
      description: 'Begin a new trace for each request and log the one it came with as `linkedTraceId`; for an app that strangers reach',
    }),
    authenticate: Type.Optional(
      functionOption<(request: CustomAuthRequest) => boolean | Promise<boolean>>({
        description: 'Judges requests to services with the strategy `custom`',
      }),
    ),
    credentials: Type.Optional(
      functionOption<(service: string) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>>({
        description: 'Makes the headers of calls of services with the strategy `custom`',
      }),
    ),
  }),
)

/** The groups of rules, each complete. */
export function rulesOf({ circuit, health, retryBudget }: Pick<MicroservicesOptions, keyof typeof ruleDefaults>): typeof ruleDefaults {
  return {
    retryBudget: { ...ruleDefaults.retryBudget, ...retryBudget },
    circuit: { ...ruleDefaults.circuit, ...circuit },
    health: { ...ruleDefaults.health, ...health },
  }
}
