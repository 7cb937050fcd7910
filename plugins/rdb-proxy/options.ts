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
        'Further keys: `{ id, secret, secretsBackup, scopes, perMinute, maxRows, maxBytes, timeoutMs }`. Scopes are `rdb:read`, `rdb:write`, `rdb:ddl`, `rdb:sql` (SQL of the caller), `stmt:<pattern>` with `*`, and those that statements name; without `scopes` all of these',
    }),
    perMinute: count(0, 0, 10_000_000, 'Requests per minute of a key that has no `perMinute` of its own; 0: no limit'),
    refusalsPerMinute: count(
      120,
      0,
      1_000_000,
      'Requests per minute from one address (IPv6: one /64) that are refused with 401; further ones get 429. Rightly signed ones always pass; 0: no limit',
    ),
    inFlight: count(32, 1, 10_000, 'Requests of one key that run at the same time'),
    maxRows: count(10_000, 1, 10_000_000, 'Rows of a result'),
    maxBytes: count(4_194_304, 1024, 1_073_741_824, 'Bytes of the values of a result'),
    maxSqlBytes: count(32_768, 64, 1_048_576, 'Bytes of a statement'),
    maxParams: count(256, 0, 65_535, 'Parameters of a statement'),
    maxStatements: count(50, 1, 1000, 'Statements of a batch'),
    timeoutMs: count(10_000, 10, 3_600_000, 'Time limit of a statement, in ms'),
    maxTimeoutMs: count(30_000, 10, 3_600_000, 'The most that a request may ask for as its time limit, in ms'),
    poolQueue: count(100, 0, 100_000, 'Requests that may wait for a connection'),
    poolWaitMs: count(1000, 1, 60_000, 'How long a request waits for a connection, in ms'),
    receiptHours: count(24, 1, 720, 'How long the response of a write is kept for its idempotency key, in hours'),
    transactionIdleMs: count(5000, 100, 60_000, 'Time after which an open transaction without a request is rolled back, in ms'),
    transactionMaxMs: count(15_000, 100, 600_000, 'Time after which an open transaction is rolled back, in ms'),
    watch: Type.Boolean({ default: false, description: 'Whether the statements file is read again when it changes' }),
    reloadOnHangup: Type.Boolean({
      default: false,
      description: 'Whether SIGHUP has the statements file read again, as it does with `zin proxy:mysql`',
    }),
  }),
)
