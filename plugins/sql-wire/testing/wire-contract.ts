import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { type SendOptions, sendWire, type WireResponse, type WireTarget } from './wire-client.js'

/** A proxy under test, in one of its modes. */
export interface OpenedProxy extends WireTarget {
  close(): Promise<void>
}

export interface ProxyUnderTest {
  readonly name: string
  /** Maximum number of parameters of a statement. */
  readonly maxParams: number
  readonly maxBodyBytes: number
  /** @param statements text of the registry. */
  open(options: { readonly mode: 'sql' | 'registry'; readonly statements: string }): Promise<OpenedProxy>
}

const table = `wire_${randomUUID().slice(0, 8)}`

const statements = JSON.stringify({
  version: 1,
  statements: {
    'item.byId': { sql: `select id, name from ${table} where id = ?`, one: true, params: [{ name: 'id', type: 'int32' }] },
    'item.all': { sql: `select id, name from ${table} order by id`, kind: 'read' },
    'item.add': {
      sql: `insert into ${table} (id, name) values (?, ?)`,
      params: [
        { name: 'id', type: 'int32' },
        { name: 'name', type: 'text', maxLength: 20 },
      ],
    },
    'item.renameAll': { sql: `update ${table} set name = ?`, maxChanges: 1 },
  },
})

/** Contract of both proxies over real sockets: every path, code and limit that they share. */
export function wireContract(proxy: ProxyUnderTest): void {
  describe(`the wire of ${proxy.name}`, () => {
    let sql: OpenedProxy
    let registry: OpenedProxy
    const send = (path: string, body: unknown, options?: SendOptions): Promise<WireResponse> => sendWire(sql, path, body, options)
    const refused = async (status: number, code: string, path: string, body: unknown, options?: SendOptions): Promise<WireResponse> => {
      const response = await send(path, body, options)
      assert.deepEqual([response.status, response.body?.code], [status, code], response.text.slice(0, 300))
      assert.deepEqual([response.body.ok, response.body.status], [false, status])
      for (const field of ['message', 'error']) assert.equal(typeof response.body[field], 'string')
      assert.equal(typeof response.body.retryable, 'boolean')
      return response
    }
    const count = async (where = '1 = 1'): Promise<number> => {
      const { body } = await send('queryOne', { sql: `select count(*) as n from ${table} where ${where}` })
      return Number(body.row.n)
    }

    before(async () => {
      sql = await proxy.open({ mode: 'sql', statements })
      const made = await send('exec', { sql: `create table ${table} (id integer primary key, name varchar(40) unique)` })
      assert.equal(made.status, 200, made.text)
      registry = await proxy.open({ mode: 'registry', statements })
    })
    after(async () => {
      await registry?.close()
      if (sql === undefined) return
      await send('exec', { sql: `drop table ${table}` })
      await sql.close()
    })

    it('reads and writes rows, with parameters, columns and changes', async () => {
      const { body: added } = await send('exec', { sql: `insert into ${table} values (?, ?)`, params: [1, 'one'] })
      assert.deepEqual([added.ok, added.rowCount, added.meta.changes], [true, 1, 1])
      const { body: many, headers } = await send('query', { sql: `select id, name from ${table} where id = ?`, params: [1] })
      assert.deepEqual([many.rows, many.rowCount], [[{ id: 1, name: 'one' }], 1])
      assert.deepEqual(
        many.columns.map((column: { readonly name: string }) => column.name),
        ['id', 'name'],
      )
      assert.equal(typeof many.meta.durationMs, 'number')
      assert.equal(headers['cache-control'], 'no-store')
      const { body: one } = await send('queryOne', { sql: `select name from ${table}`, options: { rowMode: 'array' } })
      assert.deepEqual(one.row, ['one'])
      const { body: none } = await send('queryOne', { sql: `select name from ${table} where id = 99` })
      assert.equal(none.row, null)
    })

    it('refuses every signature fault with the same 401, and runs nothing', async () => {
      const before = await count()
      const body = { sql: `insert into ${table} values (?, ?)`, params: [500, 'unsigned'] }
      const faults: readonly SendOptions[] = [
        { signed: false },
        { secret: 'another secret, which nobody here knows at all' },
        { timestamp: Date.now() - 400_000 },
        { timestamp: Date.now() + 400_000 },
        { signedBody: '{}' },
        { headers: { 'x-sig-nonce': 'short' } },
        { headers: { 'x-sig-signature': 'f'.repeat(64) } },
        { headers: { 'x-sig-body-sha256': '0'.repeat(64) } },
        { headers: { 'x-sig-timestamp': '123' } },
        { headers: { 'x-sig-device-id': 'another' } },
      ]
      const texts = new Set<string>()
      for (const fault of faults) texts.add((await refused(401, 'UNAUTHORIZED', 'exec', body, fault)).text)
      assert.equal(texts.size, 1, [...texts].join('\n'))
      const replay = { nonce: randomUUID(), timestamp: Date.now() }
      assert.equal((await send('queryOne', { sql: 'select 1 as a' }, replay)).status, 200)
      texts.add((await refused(401, 'UNAUTHORIZED', 'queryOne', { sql: 'select 1 as a' }, replay)).text)
      assert.equal(texts.size, 1)
      assert.equal(await count(), before)
    })

    it('runs a signed insert only once, however often the same request arrives', async () => {
      const once = { nonce: randomUUID(), timestamp: Date.now() }
      const body = { sql: `insert into ${table} values (?, ?)`, params: [2, 'two'] }
      const statuses = await Promise.all(Array.from({ length: 8 }, () => send('exec', body, once).then(({ status }) => status)))
      assert.deepEqual(
        statuses.toSorted((one, other) => one - other),
        [200, 401, 401, 401, 401, 401, 401, 401],
      )
      assert.equal(await count('id = 2'), 1)
    })

    it('runs a write only once for each idempotency key', async () => {
      const options = { idempotencyKey: randomUUID() }
      const body = { sql: `insert into ${table} values (?, ?)`, params: [3, 'three'], options }
      const first = await send('exec', body)
      const second = await send('exec', body)
      assert.deepEqual([first.body.meta.replayed, second.body.meta.replayed], [false, true])
      assert.equal(second.body.rowCount, first.body.rowCount)
      assert.equal(await count('id = 3'), 1)
      await refused(409, 'IDEMPOTENCY_MISMATCH', 'exec', { ...body, params: [4, 'four'] })
      // A write that failed has no receipt.
      const failing = { sql: `insert into ${table} values (?, ?)`, params: [3, 'again'], options: { idempotencyKey: randomUUID() } }
      await refused(409, 'CONSTRAINT_VIOLATION', 'exec', failing)
      await refused(409, 'CONSTRAINT_VIOLATION', 'exec', failing)
    })

    it('runs a batch as a whole or not at all', async () => {
      const insert = (id: number, name: string) => ({ sql: `insert into ${table} values (?, ?)`, params: [id, name] })
      const { body } = await send('batch', {
        statements: [insert(10, 'ten'), { sql: `select name from ${table} where id = 10`, one: true }],
      })
      assert.deepEqual([body.ok, body.committed, body.results.length], [true, true, 2])
      const failed = await refused(409, 'CONSTRAINT_VIOLATION', 'batch', { statements: [insert(11, 'eleven'), insert(10, 'again')] })
      assert.deepEqual([failed.body.committed, failed.body.failedIndex ?? failed.body.details.failedIndex], [false, 1])
      assert.equal(await count('id = 11'), 0)
      const keyed = { statements: [insert(12, 'twelve')], options: { idempotencyKey: randomUUID() } }
      await send('batch', keyed)
      assert.equal((await send('batch', keyed)).body.meta.replayed, true)
    })

    it('names the kind of a violated constraint, for each write that can violate it', async () => {
      const [parents, held] = [`${table}_parents`, `${table}_held`]
      const run = async (sql: string): Promise<void> => assert.equal((await send('exec', { sql })).status, 200, sql)
      await run(`create table ${parents} (id integer primary key)`)
      const foreign = `foreign key (parent) references ${parents} (id)`
      const columns = 'id integer primary key, name varchar(20) unique, must integer not null, small integer, parent integer'
      await run(`create table ${held} (${columns}, check (small < 1000), ${foreign})`)
      try {
        await run(`insert into ${parents} values (1)`)
        await run(`insert into ${held} values (1, 'ada', 1, 1, 1), (2, 'grace', 1, 1, 1)`)
        const violations = [
          ['unique', "(1, 'new', 1, 1, 1)", 'id = 1'],
          ['unique', "(10, 'ada', 1, 1, 1)", "name = 'ada'"],
          ['not_null', "(10, 'new', null, 1, 1)", 'must = null'],
          ['check', "(10, 'new', 1, 5000, 1)", 'small = 5000'],
          ['foreign_key', "(10, 'new', 1, 1, 99)", 'parent = 99'],
        ] as const
        for (const [kind, values, update] of violations) {
          const writes = [`insert into ${held} values ${values}`, `update ${held} set ${update} where id = 2`]
          // It replaces a row with the same key, and violates anything else.
          if (kind !== 'unique') writes.push(`replace into ${held} values ${values}`)
          for (const write of writes) {
            const { body } = await refused(409, 'CONSTRAINT_VIOLATION', 'exec', { sql: write })
            assert.deepEqual([body.details.kind, body.retryable], [kind, false], write)
          }
        }
        const { body } = await send('query', { sql: `select id, name from ${held} order by id`, options: { rowMode: 'array' } })
        assert.deepEqual(body.rows, [
          [1, 'ada'],
          [2, 'grace'],
        ])
      } finally {
        await run(`drop table ${held}`)
        await run(`drop table ${parents}`)
      }
    })

    it('refuses malformed requests, naming the place', async () => {
      await refused(400, 'INVALID_JSON', 'query', '{')
      await refused(400, 'INVALID_JSON', 'query', '')
      for (const body of [[], 'null', {}, { sql: '' }, { sql: 1 }, { sql: 'select 1', more: 1 }, { sql: 'select 1', statementId: 'a' }])
        await refused(400, 'VALIDATION_ERROR', 'query', body)
      await refused(400, 'VALIDATION_ERROR', 'query', { sql: 'select 1', options: { unknown: 1 } })
      await refused(400, 'VALIDATION_ERROR', 'batch', { statements: [] })
      await refused(400, 'VALIDATION_ERROR', 'batch', { statements: Array(51).fill({ sql: 'select 1' }) })
      for (const param of [[1], { a: 1 }, { $type: 'int64', value: '1.5' }, { $type: 'nope', value: '' }]) {
        const { body } = await refused(400, 'INVALID_PARAM', 'query', { sql: 'select ?, ?', params: [1, param] })
        assert.equal(body.details.index, 1)
      }
      // JSON.parse rounds it: exact, or refused.
      await refused(400, 'INVALID_PARAM', 'query', '{"sql": "select ?", "params": [9007199254740993]}')
      for (const params of [[], [1, 2]]) await refused(400, 'INVALID_PARAM', 'query', { sql: 'select ?', params })
    })

    it('enforces limits for bodies, SQL, parameters and rows, and truncates nothing', async () => {
      await refused(413, 'SQL_TOO_LARGE', 'query', { sql: `select '${'x'.repeat(32_768)}'` })
      const params = Array.from({ length: proxy.maxParams + 1 }, () => 1)
      await refused(413, 'TOO_MANY_PARAMS', 'query', { sql: 'select 1', params })
      await refused(413, 'PAYLOAD_TOO_LARGE', 'query', { sql: 'select ?', params: ['x'.repeat(proxy.maxBodyBytes)] })
      const rows = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 50) select i from n'
      const { body } = await refused(422, 'RESULT_TOO_LARGE', 'query', { sql: rows, options: { maxRows: 49 } })
      assert.equal(body.details.limit, 49)
      assert.equal((await send('query', { sql: rows, options: { maxRows: 50 } })).body.rowCount, 50)
    })

    it('refuses multiple statements, and writes on the reading paths', async () => {
      const insert = `insert into ${table} values (70, 'read')`
      await refused(400, 'MULTIPLE_STATEMENTS', 'query', { sql: 'select 1; select 2' })
      await refused(400, 'MULTIPLE_STATEMENTS', 'exec', { sql: `${insert}; select 1` })
      for (const path of ['query', 'queryOne']) await refused(403, 'READ_ONLY', path, { sql: insert })
      await refused(403, 'READ_ONLY', 'query', { sql: `/* select */ update ${table} set name = 'x'` })
      await refused(403, 'READ_ONLY', 'query', { sql: `with a as (select 1) delete from ${table}` })
      assert.equal(await count('id = 70'), 0)
      await refused(400, 'SQL_ERROR', 'query', { sql: `select nope from ${table}` })
      await refused(422, 'DUPLICATE_COLUMN', 'query', { sql: 'select 1 as a, 2 as a' })
    })

    it('accepts only JSON from servers on its own paths', async () => {
      await refused(415, 'UNSUPPORTED_MEDIA_TYPE', 'query', { sql: 'select 1' }, { headers: { 'content-type': 'text/plain' } })
      await refused(421, 'MISDIRECTED', 'query', { sql: 'select 1' }, { headers: { origin: 'https://shop.example' } })
      await refused(404, 'NOT_FOUND', 'drop', { sql: `drop table ${table}` })
      await refused(404, 'NOT_FOUND', 'query/', { sql: 'select 1' })
      const response = await refused(405, 'METHOD_NOT_ALLOWED', 'query', '', { method: 'PUT' })
      assert.match(String(response.headers.allow), /\bPOST\b/)
      assert.equal(response.headers['access-control-allow-origin'], undefined)
    })

    it('runs only registered statements in registry mode, and checks their parameters', async () => {
      const ask = (path: string, body: unknown): Promise<WireResponse> => sendWire(registry, path, body)
      const codeOf = async (path: string, body: unknown) => {
        const response = await ask(path, body)
        return [response.status, response.body.code]
      }
      assert.deepEqual((await ask('statement', { statementId: 'item.byId', params: [1] })).body.row, { id: 1, name: 'one' })
      assert.equal((await ask('query', { statementId: 'item.all' })).body.ok, true)
      assert.equal((await ask('statement', { statementId: 'item.add', params: [80, 'eighty'] })).body.rowCount, 1)
      for (const path of ['query', 'queryOne', 'exec'])
        assert.deepEqual(await codeOf(path, { sql: 'select 1' }), [403, 'SQL_MODE_DISABLED'], path)
      assert.deepEqual(await codeOf('batch', { statements: [{ sql: 'select 1' }] }), [403, 'SQL_MODE_DISABLED'])
      for (const statementId of ['nope', 'constructor', '__proto__', 'item.byid'])
        assert.deepEqual(await codeOf('statement', { statementId }), [404, 'UNKNOWN_STATEMENT'], statementId)
      assert.deepEqual(await codeOf('query', { statementId: 'item.add', params: [81, 'x'] }), [403, 'READ_ONLY'])
      for (const params of [[], ['1'], [1.5], [null], [1, 2]])
        assert.deepEqual(await codeOf('statement', { statementId: 'item.byId', params }), [400, 'INVALID_PARAM'], JSON.stringify(params))
      assert.deepEqual(await codeOf('statement', { statementId: 'item.add', params: [82, 'x'.repeat(21)] }), [400, 'INVALID_PARAM'])
      const before = await count(`name = 'all the same'`)
      const renamed = await ask('statement', { statementId: 'item.renameAll', params: ['all the same'] })
      // The names are unique, so that the database may refuse it first.
      assert.ok(['TOO_MANY_CHANGES', 'CONSTRAINT_VIOLATION'].includes(renamed.body.code), renamed.text)
      assert.equal(await count(`name = 'all the same'`), before)
    })
  })
}
