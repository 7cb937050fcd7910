import type { Context } from 'koa'
import { defineOptions, functionOption, type OptionsOf, Type } from 'zin'

/** Names who is counted. Requests with the same text share one limit; one for which it returns undefined is not counted. */
export type LimitKey = (ctx: Context) => string | number | undefined | Promise<string | number | undefined>

/** Who is counted. */
export type LimitBy = 'address' | 'user' | 'device' | 'key' | LimitKey

export type RateLimitOptions = OptionsOf<typeof rateLimitOptions>

const month = 31 * 86_400_000

const limit = { minimum: 1, maximum: 1_000_000_000 }
const windowMs = { minimum: 100, maximum: month, default: 60_000 }
const counted = (description: string) => Type.Union([Type.Literal('before'), Type.Literal('after')], { description })
const by = (description: string) =>
  Type.Union(
    [
      Type.Literal('address'),
      Type.Literal('user'),
      Type.Literal('device'),
      Type.Literal('key'),
      functionOption<LimitKey>({ description: '' }),
    ],
    { description, default: 'address' },
  )

const named = Type.Object(
  {
    limit: Type.Integer(limit),
    windowMs: Type.Optional(Type.Integer(windowMs)),
    by: Type.Optional(by('')),
    everywhere: Type.Optional(Type.Boolean()),
    counted: Type.Optional(counted('')),
  },
  { additionalProperties: false },
)

export const rateLimitOptions = defineOptions(
  Type.Object({
    limit: Type.Optional(
      Type.Integer({ ...limit, description: 'Requests per window and caller, for all routes together. Without it, only `limits` apply' }),
    ),
    windowMs: Type.Integer({ ...windowMs, description: 'Length of the window of `limit`, in ms. It starts with the first request' }),
    by: by(
      'Who is counted: the address (the /64 of an IPv6 one), the `user` or `device` that a guard of the route has authenticated, the API key in `keyHeader` (`key`), or what a function `(ctx) => string` returns',
    ),
    counted: Type.Optional(
      counted(
        'Whether a request counts before or after its authentication. Default: `before` for an address and a function, `after` for the others',
      ),
    ),
    limits: Type.Record(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_-]{0,47}$' }), named, {
      additionalProperties: false,
      default: {},
      description:
        'Further limits by name: `{ limit, windowMs?, by? }` for routes that list `rateLimit:<name>` in `use`; with `everywhere: true` for all routes, and then also `counted?`',
    }),
    keyHeader: Type.String({
      pattern: '^[a-z0-9-]{1,64}$',
      default: 'x-api-key',
      description: 'Header with the API key for `key`, in lower case',
    }),
    store: Type.Union([Type.Literal('auto'), Type.Literal('memory'), Type.Literal('kv')], {
      default: 'auto',
      description:
        'Where requests are counted: `kv`, together by all processes, in Redis or a table of the database; `memory`, by each process alone. `auto`: kv when that plugin is enabled',
    }),
    storeTimeoutMs: Type.Integer({
      minimum: 10,
      maximum: 10_000,
      default: 500,
      description: 'How long a request waits for the store, in ms',
    }),
    whenStoreFails: Type.Union([Type.Literal('allow'), Type.Literal('refuse')], {
      default: 'allow',
      description:
        '`allow`: while the store does not respond, each process counts alone, so that up to `limit` requests per process pass. `refuse`: 503 `RATE_LIMIT_STORE_UNAVAILABLE`',
    }),
  }),
)
