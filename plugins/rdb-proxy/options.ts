import { defineOptions, type OptionsOf, Type } from 'zin'

const count = (value: number, minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, default: value, description })

const limits = {
  perMinute: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000_000 })),
  maxRows: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000_000 })),
  maxBytes: Type.Optional(Type.Integer({ minimum: 1024, maximum: 1_073_741_824 })),
  timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 3_600_000 })),
}

const key = Type.Object(
  {
    id: Type.String({ pattern: '^[A-Za-z0-9._:@-]{1,128}$' }),
    secret: Type.String({ minLength: 1 }),
    secretsBackup: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 5 })),
    scopes: Type.Optional(Type.Array(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9_.:*-]{0,127}$' }))),
    ...limits,
  },
  { additionalProperties: false },
)

/** Options of `rdbProxy()`. */
export type RdbProxyOptions = OptionsOf<typeof rdbProxyOptions>

export const rdbProxyOptions = defineOptions(
  Type.Object({
    keys: Type.Array(key, {
      default: [],
      description:
        'Additional keys: `{ id, secret, secretsBackup, scopes, perMinute, maxRows, maxBytes, timeoutMs }`. Scopes are `rdb:read`, `rdb:write`, `rdb:ddl`, `rdb:sql` (SQL from the caller), `stmt:<pattern>` with `*` as wildcard, and the scopes that statements require; a key without `scopes` has all of them',
    }),
    allowPowerfulAccount: Type.Boolean({
      default: false,
      description:
        'Whether production runs with users that have privileges beyond the databases of the app, such as `FILE` and `PROCESS`, with which SQL reaches files of the server',
    }),
    perMinute: count(0, 0, 10_000_000, 'Requests per minute for keys without their own `perMinute`; 0: no limit'),
    refusalsPerMinute: count(
      120,
      0,
      1_000_000,
      'Requests with an invalid signature per minute and address (IPv6: /64) that get 401; further ones get 429. Correctly signed requests always pass; 0: no limit',
    ),
    inFlight: count(32, 1, 10_000, 'Maximum number of requests of one key in flight'),
    maxRows: count(10_000, 1, 10_000_000, 'Maximum number of rows in a result'),
    maxBytes: count(4_194_304, 1024, 1_073_741_824, 'Maximum size of the values in a result, in bytes'),
    maxSqlBytes: count(32_768, 64, 1_048_576, 'Maximum size of a statement, in bytes'),
    maxParams: count(256, 0, 65_535, 'Maximum number of parameters of a statement'),
    maxStatements: count(50, 1, 1000, 'Maximum number of statements in a batch'),
    timeoutMs: count(10_000, 10, 3_600_000, 'Time limit of a statement, in ms'),
    maxTimeoutMs: count(30_000, 10, 3_600_000, 'Longest time limit that a request may set, in ms'),
    poolQueue: count(100, 0, 100_000, 'Maximum number of requests waiting for a connection'),
    poolWaitMs: count(1000, 1, 60_000, 'Longest wait for a connection, in ms'),
    receiptHours: count(24, 1, 720, 'How long responses are kept for their idempotency keys, in hours'),
    transactionIdleMs: count(5000, 100, 60_000, 'Idle time after which an open transaction is rolled back, in ms'),
    transactionMaxMs: count(15_000, 100, 600_000, 'Total time after which an open transaction is rolled back, in ms'),
    watch: Type.Boolean({ default: false, description: 'Whether to reload the statements file when it changes' }),
    reloadOnHangup: Type.Boolean({
      default: false,
      description: 'Whether to reload the statements file on SIGHUP, as `zin proxy:mysql` does',
    }),
  }),
)
