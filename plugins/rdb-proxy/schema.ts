import { Type } from 'zin'

const params = Type.Array(
  Type.Unknown({ description: 'A string, number, boolean, null, or a tagged value such as {"$type": "int64", "value": "…"}' }),
)

const options = Type.Object({
  rowMode: Type.Optional(Type.Enum(['object', 'array'], { type: 'string' })),
  maxRows: Type.Optional(Type.Integer()),
  timeoutMs: Type.Optional(Type.Integer()),
  encoding: Type.Optional(Type.Enum(['typed', 'plain'], { type: 'string' })),
  idempotencyKey: Type.Optional(Type.String({ description: 'A write repeated with the same key runs only once' })),
})

export const statementBody = Type.Object({
  sql: Type.Optional(Type.String({ description: 'SQL with ? placeholders; alternative to "statementId"' })),
  statementId: Type.Optional(Type.String({ description: 'Id of a registered statement' })),
  params: Type.Optional(params),
  options: Type.Optional(options),
})

export const registeredBody = Type.Object({ statementId: Type.String(), params: Type.Optional(params), options: Type.Optional(options) })

export const batchBody = Type.Object({
  statements: Type.Array(
    Type.Object({
      sql: Type.Optional(Type.String()),
      statementId: Type.Optional(Type.String()),
      params: Type.Optional(params),
      one: Type.Optional(Type.Boolean()),
    }),
  ),
  options: Type.Optional(
    Type.Object({
      mode: Type.Optional(Type.Enum(['transaction', 'sequence'], { type: 'string' })),
      isolation: Type.Optional(Type.String()),
      readOnly: Type.Optional(Type.Boolean()),
      idempotencyKey: Type.Optional(Type.String()),
    }),
  ),
})

export const txBody = Type.Object({
  action: Type.Enum(['begin', 'query', 'queryOne', 'exec', 'commit', 'rollback'], { type: 'string' }),
  baton: Type.Optional(Type.String({ description: 'From the last response; valid once' })),
  sql: Type.Optional(Type.String()),
  statementId: Type.Optional(Type.String()),
  params: Type.Optional(params),
  options: Type.Optional(Type.Object({})),
})

const columns = Type.Array(Type.Object({ name: Type.String(), type: Type.String() }))
const meta = Type.Object({})
const row = Type.Unknown({ description: 'An object by column name, or an array with rowMode "array"' })

export const queryResponse = Type.Object({ ok: Type.Literal(true), rows: Type.Array(row), rowCount: Type.Integer(), columns, meta })
export const oneResponse = Type.Object({ ok: Type.Literal(true), row, columns, meta })
export const execResponse = Type.Object({
  ok: Type.Literal(true),
  rowCount: Type.Integer(),
  lastInsertId: Type.Union([Type.String(), Type.Null()]),
  rows: Type.Array(row),
  columns,
  meta,
})
export const anyResponse = Type.Object({ ok: Type.Literal(true), meta })
export const batchResponse = Type.Object({ ok: Type.Literal(true), results: Type.Array(Type.Unknown()), committed: Type.Boolean(), meta })
