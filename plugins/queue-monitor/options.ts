import type { TProperties } from 'typebox'
import { defineOptions, type OptionsOf, Type } from 'zin'
import { type DeliveryEvent, deliveryEvents } from './deliveries/delivery.js'

/** Options of `queueMonitor()`. */
export type QueueMonitorOptions = OptionsOf<typeof queueMonitorOptions>

const actions = Type.Union([Type.Literal('webhook'), Type.Literal('email'), Type.Literal('slack')])
const places = () => ({
  webhook: Type.Optional(url),
  recipients: Type.Optional(
    Type.Array(Type.String({ pattern: '^[^@\\s<>,;"]+@[^@\\s<>,;"]+$', maxLength: 200 }), { minItems: 1, maxItems: 20 }),
  ),
})
const threshold = <More extends TProperties>(minimum: number, maximum: number, more: More) => {
  const number = Type.Number({ minimum, maximum })
  const action = Type.Object({ threshold: number, ...more, action: Type.Optional(actions), ...places() }, closed)
  return Type.Optional(Type.Union([number, action, Type.Literal(false)]))
}

const closed = { additionalProperties: false } as const
const day = 86_400_000
const url = Type.String({ minLength: 8, maxLength: 2_000 })

const permissions = Type.Array(
  Type.Union([Type.Literal('read'), Type.Literal('write'), Type.Literal('admin'), Type.Literal('payload:read')]),
  { minItems: 1 },
)
const queueNames = Type.Union([Type.Literal('*'), Type.Array(Type.String({ pattern: '^([A-Za-z0-9_.-]{1,100}|\\*)$' }), { minItems: 1 })])

const event = Type.Unsafe<DeliveryEvent>(Type.Union(deliveryEvents.map((name) => Type.Literal(name))))
const urls = Type.Optional(Type.Union([url, Type.Array(url, { minItems: 1, maxItems: 20 })]))
const webhooks = Type.Union([
  Type.Array(
    Type.Union([
      url,
      Type.Object(
        {
          url,
          events: Type.Optional(Type.Array(event, { minItems: 1 })),
          queues: Type.Optional(queueNames),
          description: Type.Optional(Type.String({ maxLength: 200 })),
        },
        closed,
      ),
    ]),
    { maxItems: 100 },
  ),
  Type.Object(Object.fromEntries(deliveryEvents.map((name) => [name, urls])) as Readonly<Record<DeliveryEvent, typeof urls>>, closed),
])
const secret = Type.String({ minLength: 1, maxLength: 200 })

export const queueMonitorOptions = defineOptions(
  Type.Object({
    monitor: Type.Object(
      {
        enabled: Type.Optional(Type.Boolean()),
        interval: Type.Optional(Type.Integer({ minimum: 1_000, maximum: 60_000 })),
        retention: Type.Optional(Type.Integer({ minimum: 3_600_000, maximum: 90 * day })),
        alerts: Type.Optional(
          Type.Object(
            {
              queueSize: threshold(0, 1e9, {}),
              processingTime: threshold(0, 1e9, {}),
              failureRate: threshold(0, 1, {
                minAttempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
                confidence: Type.Optional(Type.Number({ minimum: 0.5, maximum: 0.9999 })),
              }),
              oldestWaiting: threshold(0, 1e9, {}),
              attention: Type.Optional(Type.Object({ action: actions, ...places() }, closed)),
              coolDown: Type.Optional(Type.Integer({ minimum: 0, maximum: day })),
            },
            closed,
          ),
        ),
        webhooks: Type.Optional(webhooks),
        webhookSecret: Type.Optional(Type.Union([secret, Type.Array(secret, { minItems: 1, maxItems: 5 })])),
        delivery: Type.Optional(
          Type.Object(
            {
              retries: Type.Optional(Type.Array(Type.Integer({ minimum: 1, maximum: day }), { maxItems: 20 })),
              timeout: Type.Optional(Type.Integer({ minimum: 100, maximum: 60_000 })),
              concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
              backlog: Type.Optional(Type.Integer({ minimum: 1, maximum: 20_000 })),
              queues: Type.Optional(Type.Integer({ minimum: 1, maximum: 5_000 })),
              allowPrivate: Type.Optional(Type.Boolean()),
              allowHosts: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 300 }), { minItems: 1, maxItems: 100 })),
            },
            closed,
          ),
        ),
        smtp: Type.Optional(
          Type.Object(
            {
              host: Type.String({ minLength: 1, maxLength: 300 }),
              port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
              secure: Type.Optional(Type.Boolean()),
              user: Type.Optional(Type.String({ minLength: 1, maxLength: 300 })),
              password: Type.Optional(Type.String({ minLength: 1, maxLength: 300 })),
              from: Type.String({ minLength: 3, maxLength: 300 }),
            },
            closed,
          ),
        ),
      },
      {
        ...closed,
        default: {},
        description:
          '`{enabled, interval, retention, alerts, webhooks, webhookSecret, delivery, smtp}`: whether to record history, raise alerts and deliver webhooks (default true), the sampling interval in ms (default 30000), the retention of history in ms (default 7 days), the alert thresholds, see Alerts, and the delivery of events, see Webhooks',
      },
    ),
    auth: Type.Optional(
      Type.Object(
        { type: Type.Literal('basic'), username: Type.String({ minLength: 1 }), password: Type.String({ minLength: 8 }) },
        { ...closed, description: '`{type: "basic", username, password}`: a user with all permissions of this plugin' },
      ),
    ),
    apiKeys: Type.Record(Type.String(), Type.Object({ permissions, queues: queueNames }, closed), {
      default: {},
      description:
        "Maps an API key, or `sha256:` and the hex digest of one, to `{permissions, queues}`; permissions are `read`, `write`, `admin` and `payload:read`, queues is a list of names, or `*` for all, also as `['*']`. Production refuses keys of fewer than 16 characters, not counting blanks at their ends; it cannot tell how long the key of a digest is",
    }),
    redact: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description: 'Further names for the option `redact` of the plugin queues, which redacts fields such as `password` by default',
    }),
  }),
)
