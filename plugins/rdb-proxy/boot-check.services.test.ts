import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { onMysql } from '../../scripts/testing/mysql-database.js'
import { type MysqlServer, mysqlServer } from '../../scripts/testing/mysql-server.js'
import { openRdb, type RdbUnderTest } from './testing/rdb.js'
import { sendWire } from './testing/wire.js'

/** The response of MySQL to a statement that cannot be prepared. */
function unpreparable(): Buffer {
  const text = Buffer.from('\xff\x0f\x05#HY000This command is not supported in the prepared statement protocol yet', 'latin1')
  return Buffer.concat([Buffer.from([text.length, 0, 0, 1]), text])
}

/**
 * A relay to the database that closes each connection on which a table is created, while `cuts` is true. It prepares no SHOW WARNINGS and no
 * CREATE FUNCTION, as MySQL does.
 */
async function openRelay(port: number) {
  const sockets = new Set<Socket>()
  const state = { cuts: false, creations: 0, port: 0 }
  const relay = createServer((client) => {
    const server = connect(port, '127.0.0.1')
    for (const socket of [client, server]) sockets.add(socket.on('error', () => undefined))
    client.on('data', (chunk: Buffer) => {
      if (chunk.includes('create table')) {
        state.creations++
        if (state.cuts) return void client.destroy()
      }
      const prepares = chunk[4] === 0x16
      if (prepares && /show warnings|create function/.test(chunk.toString('latin1'))) client.write(unpreparable())
      else server.write(chunk)
    })
    server.on('data', (chunk) => client.write(chunk))
    client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  state.port = (relay.address() as { readonly port: number }).port
  return {
    state,
    close() {
      for (const socket of sockets) socket.destroy()
      relay.close()
    },
  }
}

describe('the check of the reading user', () => {
  let server: MysqlServer
  let relay: Awaited<ReturnType<typeof openRelay>>
  let admin: Awaited<ReturnType<typeof createConnection>>
  before(async () => {
    server = await mysqlServer()
    relay = await openRelay(Number(server.env.DB_PORT))
    admin = await createConnection({ host: '127.0.0.1', port: Number(server.env.DB_PORT), user: 'zin', password: 'zin' })
    await admin.query("create user reader@'127.0.0.1' identified by 'reads'")
    await admin.query("grant select on zin.* to reader@'127.0.0.1'")
    await admin.query("create user writer@'127.0.0.1' identified by 'writes'")
    await admin.query("grant all on zin.* to writer@'127.0.0.1'")
  })
  after(async () => {
    await admin.end()
    relay.close()
    await server.stop()
  })

  const withProxy = async (test: (rdb: RdbUnderTest) => Promise<void>, more: Readonly<Record<string, string>> = {}): Promise<void> => {
    const reader = { RDB_PROXY_READ_USERNAME: 'reader', RDB_PROXY_READ_PASSWORD: 'reads' }
    const writer = { DB_USERNAME: 'writer', DB_PASSWORD: 'writes' }
    const rdb = await openRdb({
      env: { ...server.env, ...reader, ...writer, DB_PORT: `${relay.state.port}`, NODE_ENV: 'production', ...more },
    })
    try {
      await test(rdb)
    } finally {
      await rdb.close()
    }
  }
  const read = async (rdb: RdbUnderTest): Promise<string> => {
    const { status, body } = await sendWire(rdb, 'query', { sql: 'select 1 as a' })
    return status === 200 ? 'ok' : `${status} ${body.code}`
  }

  it('refuses reads while the connection is lost during its attempt to write, and repeats the attempt', async () => {
    relay.state.cuts = true
    relay.state.creations = 0
    await withProxy(async (rdb) => {
      assert.match(rdb.host.logText(), /the reading user could not be checked/)
      assert.deepEqual([await read(rdb), await read(rdb)], ['503 DB_UNAVAILABLE', '503 DB_UNAVAILABLE'])
      relay.state.cuts = false
      assert.deepEqual([await read(rdb), await read(rdb)], ['ok', 'ok'])
      // At boot, for each refused read, and for the first one that was not.
      assert.equal(relay.state.creations, 4)
    })
  })

  it('sends as text what the server cannot prepare', async () => {
    await withProxy(async (rdb) => {
      const shown = await sendWire(rdb, 'query', { sql: 'show warnings' })
      assert.deepEqual([shown.status, shown.body.ok], [200, true], shown.text)
      const refused = await sendWire(rdb, 'query', { sql: 'show warnings', params: [1] })
      assert.deepEqual([refused.status, refused.body.code], [400, 'INVALID_PARAM'], refused.text)
      const made = await sendWire(rdb, 'exec', { sql: 'create function made_one() returns int deterministic return 1' })
      assert.equal(made.status, 200, made.text)
      const called = await sendWire(rdb, 'exec', { sql: 'select made_one() as n' })
      assert.equal(Number(called.body.rows?.[0].n), 1, called.text)
    })
    await admin.query('drop function zin.made_one')
  })

  it('passes on a server that is read-only, which reports that before it checks the privilege', async () => {
    await admin.query('set global read_only = 1')
    try {
      await withProxy(async (rdb) => assert.equal(await read(rdb), 'ok'))
    } finally {
      await admin.query('set global read_only = 0')
    }
  })

  it('refuses to start with a user that may take a role whose privileges it cannot see', async () => {
    await admin.query('create role outer_role')
    await admin.query('grant file on *.* to outer_role')
    await admin.query("create user taker@'127.0.0.1' identified by 'takes'")
    await admin.query("grant all on zin.* to taker@'127.0.0.1'")
    await admin.query("grant outer_role to taker@'127.0.0.1'")
    await assert.rejects(
      withProxy(async () => undefined, { DB_USERNAME: 'taker', DB_PASSWORD: 'takes' }),
      /"taker" has privileges beyond its database: UNKNOWN PRIVILEGES OF THE ROLE OUTER_ROLE(@%)? on all databases/,
    )
    await admin.query(`set default role outer_role ${onMysql ? 'to' : 'for'} taker@'127.0.0.1'`)
    await assert.rejects(
      withProxy(async () => undefined, { DB_USERNAME: 'taker', DB_PASSWORD: 'takes' }),
      /"taker" has privileges beyond its database: FILE on all databases/,
    )
  })

  it('finds a role whatever its name, and whatever the server is set to quote', async (t) => {
    t.after(() => admin.query('set global sql_quote_show_create = 1'))
    await admin.query("create user odd@'127.0.0.1' identified by 'odd'")
    await admin.query("grant all on zin.* to odd@'127.0.0.1'")
    const names = ["a'b", 'a`b', 'a,b', 'usage ON zin.* TO x', 'a"b', "'", 'plain', 'select']
    for (const quotes of [1, 0])
      for (const name of names) {
        await admin.query(`set global sql_quote_show_create = ${quotes}`)
        const role = `\`${name.replaceAll('`', '``')}\``
        await admin.query(`create role ${role}`)
        await admin.query(`grant file on *.* to ${role}`)
        await admin.query(`grant ${role} to odd@'127.0.0.1'`)
        await assert.rejects(
          withProxy(async () => undefined, { DB_USERNAME: 'odd', DB_PASSWORD: 'odd' }),
          /"odd" has privileges beyond its database/,
          name,
        )
        await admin.query(`drop role ${role}`)
      }
    await withProxy(async (rdb) => assert.equal(await read(rdb), 'ok'), { DB_USERNAME: 'odd', DB_PASSWORD: 'odd' })
  })

  it('shows no caller the hash of the password of its account', async () => {
    await withProxy(async (rdb) => {
      for (const sql of [
        'show grants',
        'SHOW /* a */ GRANTS FOR current_user',
        'show create user',
        '(show grants)',
        'show create user current_user()',
      ])
        for (const path of ['query', 'exec']) {
          const { status, text } = await sendWire(rdb, path, { sql })
          assert.ok(status >= 400 && !text.includes('PASSWORD'), `${path} ${sql}: ${text}`)
        }
    })
  })

  it('refuses to start with a writing user that reaches beyond its database, unless that is allowed', async () => {
    await admin.query("create user powerful@'127.0.0.1' identified by 'powers'")
    await admin.query("grant all on zin.* to powerful@'127.0.0.1'")
    await admin.query("grant file on *.* to powerful@'127.0.0.1'")
    const account = { DB_USERNAME: 'powerful', DB_PASSWORD: 'powers' }
    const write = async (rdb: RdbUnderTest) => (await sendWire(rdb, 'exec', { sql: 'create table if not exists t (a int)' })).status
    await assert.rejects(
      withProxy(async () => undefined, account),
      /"powerful" has privileges beyond its database: FILE on all databases/,
    )
    await withProxy(async (rdb) => assert.equal(await write(rdb), 200), { ...account, RDB_PROXY_ALLOW_POWERFUL_ACCOUNT: 'true' })
    await withProxy(
      async (rdb) => {
        assert.match(rdb.host.logText(), /FILE on all databases.*Production refuses to start/)
        assert.equal(await write(rdb), 200)
      },
      { ...account, NODE_ENV: 'development' },
    )
    await withProxy(async (rdb) => assert.equal(await write(rdb), 200))
  })

  // MySQL has no PUBLIC.
  if (!onMysql)
    it('finds privileges that every user has', async () => {
      await admin.query('grant insert on zin.* to public')
      await assert.rejects(
        withProxy(async () => undefined),
        /the database user "reader" for reading has the privileges INSERT/,
      )
    })
})
