import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { createHeaders } from 'zin/signer'
import { eventually } from '../scripts/testing/eventually.js'
import { mysqlEnv, numbersTo } from '../scripts/testing/mysql-database.js'
import { mysqlServer } from '../scripts/testing/mysql-server.js'
import { openAdmin, openRdb, type RdbUnderTest } from './rdb-proxy/testing/rdb.js'
import { sendWire } from './rdb-proxy/testing/wire.js'
import { sendWire as sendPlain } from './sql-wire/testing/wire-client.js'

const table = `faults_${randomUUID().slice(0, 8)}`
const read = { sql: 'select 1 as a' }

describe('the relational proxy, when its dependencies fail', () => {
  let admin: Awaited<ReturnType<typeof openAdmin>>
  before(async () => {
    admin = await openAdmin()
    await admin.run(`create table ${table} (id int primary key, name varchar(40))`)
    await admin.run(`insert into ${table} values (1, 'one'), (2, 'two')`)
  })
  after(async () => {
    await admin.run(`drop table ${table}`)
    await admin.close()
  })

  const withProxy = async (options: Parameters<typeof openRdb>[0], test: (rdb: RdbUnderTest) => Promise<void>): Promise<void> => {
    const rdb = await openRdb(options)
    try {
      await test(rdb)
    } finally {
      await rdb.close()
    }
  }
  const transactions = { env: { RDB_PROXY_TRANSACTIONS: 'true' } }
  const begin = async (rdb: RdbUnderTest): Promise<string> => (await sendWire(rdb, 'tx', { action: 'begin' })).body.tx.baton

  it('responds 409 TX_CONFLICT to the victim of a deadlock, and lets the other transaction continue', async () => {
    await withProxy(transactions, async (rdb) => {
      const update = (baton: string, id: number) =>
        sendWire(rdb, 'tx', { action: 'exec', baton, sql: `update ${table} set name = 'locked' where id = ?`, params: [id] })
      const [one, other] = [await begin(rdb), await begin(rdb)]
      const [first, second] = [await update(one, 1), await update(other, 2)]
      const ends = await Promise.all([update(first.body.tx.baton, 2), update(second.body.tx.baton, 1)])
      assert.deepEqual(
        ends.map(({ status }) => status).toSorted((a, b) => a - b),
        [200, 409],
      )
      const victim = ends.find(({ status }) => status === 409)?.body
      assert.deepEqual([victim.code, victim.details.errno, victim.details.rolledBack, victim.retryable], ['TX_CONFLICT', 1213, true, true])
      const winner = ends.find(({ status }) => status === 200)?.body
      assert.equal((await sendWire(rdb, 'tx', { action: 'commit', baton: winner.tx.baton })).body.committed, true)
    })
  })

  it('responds 413 PAYLOAD_TOO_LARGE to what exceeds max_allowed_packet, wherever it is, and keeps its connections', async () => {
    const server = await mysqlServer()
    const own = await createConnection({ host: '127.0.0.1', port: Number(server.env.DB_PORT), user: 'zin', password: 'zin' })
    try {
      const limit = 2 ** 19
      await own.query(`set global max_allowed_packet = ${limit}`)
      await own.query('create table zin.big (t longtext)')
      const { DB_CONNECTION: _unused, ...db } = server.env
      const env = { ...db, RDB_PROXY_TRANSACTIONS: 'true', RDB_PROXY_MAX_BODY_BYTES: `${2 ** 24}` }
      await withProxy({ env, options: { maxSqlBytes: 2 ** 20 } }, async (rdb) => {
        const baton = await begin(rdb)
        const select = 'select length(?) as n'
        const fits = 'x'.repeat(limit - 100)
        const large: readonly (readonly [string, unknown])[] = [
          ['query', { sql: select, params: ['x'.repeat(limit)] }],
          ['query', { sql: select, params: ['€'.repeat(limit / 3)] }],
          ['query', { sql: `select length(concat(${'?,'.repeat(16)}?)) as n`, params: Array(17).fill('x'.repeat(2 ** 16)) }],
          ['query', { sql: select, params: [{ $type: 'blob', base64: Buffer.alloc(limit).toString('base64') }] }],
          ['query', { sql: `select length('${'x'.repeat(limit)}') as n` }],
          ['exec', { sql: 'insert into big values (?)', params: ['x'.repeat(limit)] }],
          ['batch', { statements: [read, { sql: select, params: ['x'.repeat(limit)] }] }],
          ['tx', { action: 'query', baton, sql: select, params: ['x'.repeat(limit)] }],
        ]
        for (const [path, body] of large) {
          const { status, body: answer } = await sendWire(rdb, path, body)
          assert.deepEqual([status, answer.code, answer.details?.limit], [413, 'PAYLOAD_TOO_LARGE', limit], path)
        }
        const { body } = await sendWire(rdb, 'query', { sql: select, params: [fits] })
        assert.equal(Number(body.rows[0].n), fits.length)
      })
    } finally {
      await own.end()
      await server.stop()
    }
  })

  it('responds 421 MISDIRECTED to a baton of another process, and names that process', async () => {
    await withProxy(transactions, async (rdb) => {
      await withProxy(transactions, async (another) => {
        const begun = (await sendWire(another, 'tx', { action: 'begin' })).body
        // Not with fetch, which retries a request on a 421, so that it becomes a replay.
        const { status, body } = await sendPlain(rdb, 'tx', { action: 'commit', baton: begun.tx.baton })
        assert.deepEqual([status, body.code, body.details?.instance], [421, 'MISDIRECTED', begun.tx.instance])
        assert.equal((await sendWire(another, 'tx', { action: 'rollback', baton: begun.tx.baton })).status, 200)
      })
    })
  })

  it('responds 503 SHUTTING_DOWN to a transaction that would begin during its shutdown', async () => {
    await withProxy(transactions, async (rdb) => {
      const body = JSON.stringify({ action: 'begin' })
      const url = `${rdb.url}/svc/rdb/tx`
      const headers = await createHeaders({ method: 'POST', url, body, keyId: 'shop', secret: rdb.secret })
      const sent = request(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'content-length': String(body.length) },
      })
      // The head arrives before the shutdown begins, the body after it.
      sent.flushHeaders()
      await once(sent, 'socket').then(([socket]) => (socket.connecting ? once(socket, 'connect') : undefined))
      await sendWire(rdb, 'query', read)
      const stopped = rdb.host.stop()
      sent.end(body)
      const [response] = await once(sent, 'response')
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk)
      const { code, retryable } = JSON.parse(Buffer.concat(chunks).toString('utf8'))
      assert.deepEqual([response.statusCode, code, retryable, response.headers['retry-after']], [503, 'SHUTTING_DOWN', true, '1'])
      await stopped
    })
  })

  it('responds 503 AUTH_STORE_UNAVAILABLE when it cannot store a nonce, and runs nothing', async () => {
    const data = await mkdtemp(join(tmpdir(), 'zin-nonces-'))
    await withProxy({ env: { ZIN_DATA_DIR: data } }, async (rdb) => {
      // The nonce of a request dated ahead must survive a restart, so it is written to a file.
      const insert = { sql: `insert into ${table} values (90, 'unremembered')` }
      await rm(join(data, 'rdb-proxy'), { recursive: true })
      const { status, body, headers } = await sendPlain(rdb, 'exec', insert, { timestamp: Date.now() + 30_000 })
      assert.deepEqual([status, body.code, body.retryable, headers['retry-after']], [503, 'AUTH_STORE_UNAVAILABLE', true, '1'])
      assert.equal((await admin.run(`select id from ${table} where id = 90`)).length, 0)
      assert.equal((await sendWire(rdb, 'query', read)).status, 200)
    })
    await rm(data, { recursive: true, force: true })
  })

  it('responds 502 DB_PROTOCOL to malformed packets of the database, and discards the connection', async () => {
    const { DB_HOST, DB_PORT } = mysqlEnv()
    let spoil = false
    const relay = createServer((client) => {
      const server = connect(Number(DB_PORT), DB_HOST)
      client.on('data', (chunk) => server.write(chunk))
      server.on('data', (chunk: Buffer) => {
        // The EOF packet between the columns and the rows of a result with one column.
        const mark = spoil ? chunk.indexOf(Buffer.from([5, 0, 0, 3, 0xfe])) : -1
        if (mark >= 0) chunk[mark + 4] = 7
        client.write(chunk)
      })
      for (const [socket, peer] of [
        [client, server],
        [server, client],
      ] as const)
        socket.on('error', () => undefined).on('close', () => peer.destroy())
    })
    relay.listen(0, '127.0.0.1')
    await once(relay, 'listening')
    const { port } = relay.address() as { readonly port: number }
    await withProxy({ env: { DB_PORT: String(port) } }, async (rdb) => {
      assert.equal((await sendWire(rdb, 'query', read)).status, 200)
      spoil = true
      const { status, body, text } = await sendWire(rdb, 'query', read)
      assert.deepEqual([status, body.code, body.retryable], [502, 'DB_PROTOCOL', false], text)
      spoil = false
      assert.equal((await sendWire(rdb, 'query', read)).status, 200)
    })
    relay.close()
  })

  it('reports a connection lost during a statement immediately, and the outcome of a write as unknown', async () => {
    await withProxy({}, async (rdb) => {
      let cuts = 0
      const cut = async (path: string, sqlOf: (mark: string) => string, accept = 'application/json') => {
        const mark = `to be cut ${++cuts}`
        const sql = sqlOf(mark)
        const response = sendWire(rdb, path, { sql, options: { timeoutMs: 30_000 } }, { headers: { accept } })
        const running = async () =>
          // Earlier statements may still be ending, and this one may still be prepared.
          admin.run(
            `select id from information_schema.processlist where info like '%${mark}%' and info not like '%processlist%' and state = 'User sleep'`,
          )
        await eventually('it runs', async () => (await running()).length === 1)
        for (const { id } of await running()) await admin.run(`kill ${Number(id)}`)
        return response
      }
      const lost = await cut('query', (mark) => `select sleep(25) as s, '${mark}' as t`)
      assert.deepEqual([lost.status, lost.body.code, lost.body.retryable], [503, 'DB_UNAVAILABLE', true])
      const unknown = await cut('exec', (mark) => `insert into ${table} select 91, concat('${mark}', sleep(25))`)
      assert.deepEqual(
        [unknown.status, unknown.body.code, unknown.body.retryable, unknown.body.details.outcome],
        [503, 'DB_UNAVAILABLE', false, 'unknown'],
      )
      const streamed = await cut(
        'query',
        (mark) => `select seq, sleep(if(seq > 1, 25, 0)) as s, '${mark}' as t from ${numbersTo(3)}`,
        'application/x-ndjson',
      )
      assert.match(streamed.text, /"DB_UNAVAILABLE"/)
      assert.equal((await sendWire(rdb, 'query', read)).status, 200)
    })
  })

  it('responds within its deadlines while the database is frozen, and works again afterwards', async () => {
    const server = await mysqlServer()
    try {
      await withProxy({ env: server.env, options: { poolWaitMs: 200 } }, async (rdb) => {
        await sendWire(rdb, 'exec', { sql: 'create table frozen (id int primary key)' })
        assert.equal((await sendWire(rdb, 'query', read)).status, 200)
        server.hang()
        const options = { timeoutMs: 300 }
        const [write, ...reads] = await Promise.all([
          sendWire(rdb, 'exec', { sql: 'insert into frozen values (1)', options }),
          sendWire(rdb, 'query', { ...read, options }),
          sendWire(rdb, 'query', { ...read, options }),
        ])
        // One read timed out on the open connection; for the other one, no connection could be opened.
        const late = reads.find(({ body }) => body.code === 'QUERY_TIMEOUT')
        const refused = reads.find((one) => one !== late)
        assert.deepEqual([late?.body.details.outcome, late?.body.retryable], ['unknown', true])
        assert.deepEqual([refused?.status, refused?.body.code, refused?.body.retryable], [503, 'DB_UNAVAILABLE', true])
        assert.deepEqual([write.body.code, write.body.details.outcome, write.body.retryable], ['QUERY_TIMEOUT', 'unknown', false])
        server.resume()
        await eventually('it works again', async () => (await sendWire(rdb, 'query', read)).status === 200)
      })
    } finally {
      server.resume()
      await server.stop()
    }
  })

  it('responds 429 to an address with too many refused requests, but still accepts correctly signed ones from it', async () => {
    await withProxy({ options: { refusalsPerMinute: 5 } }, async (rdb) => {
      const statuses: number[] = []
      for (let round = 0; round < 8; round++) {
        const fault = round % 2 === 0 ? { secret: 'wrong' } : { signed: false }
        statuses.push((await sendWire(rdb, 'query', read, fault)).status)
      }
      assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429, 429])
      const refused = await sendWire(rdb, 'query', read, { secret: 'wrong' })
      assert.equal(refused.body.code, 'RATE_LIMITED')
      assert.ok(Number(refused.headers.get('retry-after')) >= 1)
      assert.equal(rdb.host.logText().match(/"msg":"proxy request refused"/g)?.length, 5)
      assert.equal((await sendWire(rdb, 'query', read)).status, 200)
    })
  })
})
