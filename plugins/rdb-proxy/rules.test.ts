import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WireError } from 'zin/plugins/sql-wire'
import { fakeClock } from 'zin/testing'
import type { Settings } from './assemble.js'
import { allows, keysOf } from './auth/keys.js'
import { Rates } from './auth/rates.js'
import { excessPrivileges } from './boot-check.js'
import { checkSettings } from './check-settings.js'
import type { RdbProxyOptions } from './options.js'
import { wireErrorOf } from './sql/db-errors.js'
import { Pool } from './sql/pool.js'
import { isStateless } from './sql/stateless.js'

const limits = { keys: [], perMinute: 0, maxRows: 1, maxBytes: 1, timeoutMs: 1 }

test('Scopes allow by name and by pattern, and a bare * only what statements name', () => {
  for (const [scope, needed] of [
    ['rdb:read', 'rdb:read'],
    ['stmt:user.*', 'stmt:user.rename'],
    ['stmt:*', 'stmt:a'],
    ['*', 'users:write'],
    ['stmt:*.get', 'stmt:a.b.get'],
  ] as const)
    assert.ok(allows([scope], needed), `${scope} ${needed}`)
  for (const [scope, needed] of [
    ['rdb:read', 'rdb:write'],
    ['stmt:user.*', 'stmt:users'],
    ['*', 'rdb:write'],
    ['*', 'stmt:a'],
    ['stmt:a*a', 'stmt:a'],
  ] as const)
    assert.ok(!allows([scope], needed), `${scope} ${needed}`)
})

test('Without an id of its own the secret alone is the key; with one the id has to be named', () => {
  const any = keysOf({ keyId: '', secret: 'x', options: limits })
  assert.equal(any.find('whoever')?.id, 'shared')
  const named = keysOf({ keyId: 'shop', secret: 'x', options: limits })
  assert.deepEqual([named.find('shop')?.id, named.find('whoever')], ['shop', undefined])
  assert.equal(keysOf({ keyId: '', secret: '', options: limits }).count, 0)
})

test('A bucket of a key refills steadily, and keys do not share it', () => {
  const clock = fakeClock()
  const rates = new Rates(clock, 10)
  const key = (id: string) => ({ ...keysOf({ keyId: '', secret: 'x', options: limits }).unsigned, id, perMinute: 2 })
  for (let round = 0; round < 2; round++) rates.enter(key('a'))()
  assert.throws(
    () => rates.enter(key('a')),
    (error: WireError) => error.code === 'RATE_LIMITED' && error.retryAfterS === 30,
  )
  rates.enter(key('b'))()
  clock.advance(30_000)
  rates.enter(key('a'))()
})

test('Privileges beyond reading are found in the lines of SHOW GRANTS', () => {
  assert.deepEqual(
    excessPrivileges(["GRANT USAGE ON *.* TO `r`@`%` IDENTIFIED BY PASSWORD '*0'", 'GRANT SELECT, SHOW VIEW ON `shop`.* TO `r`@`%`']),
    [],
  )
  assert.deepEqual(excessPrivileges(['GRANT SELECT (id, name), UPDATE (name) ON `shop`.`users` TO `r`@`%`']), ['UPDATE'])
  assert.deepEqual(excessPrivileges(['GRANT ALL PRIVILEGES ON *.* TO `r`@`%` WITH GRANT OPTION']), ['ALL PRIVILEGES', 'GRANT OPTION'])
  assert.deepEqual(excessPrivileges(['GRANT SELECT, FILE ON *.* TO `r`@`%`']), ['FILE'])
  assert.deepEqual(excessPrivileges(['GRANT `writers` TO `r`@`%`']), ['`writers`'])
})

test('Only reads without variables and with well-known functions count as stateless', () => {
  for (const sql of [
    'select id from t where id = ?',
    'select count(*), max(a) from t where b in (1, 2)',
    "select 'get_lock(1)' as a",
    'with a as (select 1) select * from a',
  ])
    assert.ok(isStateless(sql), sql)
  for (const sql of [
    'select @a',
    'select @a := 1',
    'select @@sql_mode',
    "select get_lock('a', 0)",
    'select last_insert_id()',
    'select `f`(1)',
    'select found_rows ()',
    'select a.f(1)',
    'show warnings',
  ])
    assert.ok(!isStateless(sql), sql)
})

test('A pool serves in turn, refuses who waits too long or as one too many, and closes what is left', async () => {
  const closed: number[] = []
  let opened = 0
  const open = async () => {
    const id = opened++
    return { id, broken: false, discard: () => void closed.push(id) }
  }
  const pool = new Pool({ open, limit: 1, queue: 1, waitMs: 20 })
  const first = await pool.acquire()
  const waiting = pool.acquire()
  await assert.rejects(
    async () => pool.acquire(),
    (error: WireError) => error.code === 'POOL_EXHAUSTED',
  )
  pool.release(first)
  const second = await waiting
  assert.equal(second, first)
  await assert.rejects(
    async () => pool.acquire(),
    (error: WireError) => error.code === 'POOL_EXHAUSTED',
  )
  second.broken = true
  pool.release(second)
  assert.equal((await pool.acquire()).id, 1)
  pool.close()
  assert.deepEqual(
    closed.toSorted((one, other) => one - other),
    [0, 1],
  )
  await assert.rejects(
    async () => pool.acquire(),
    (error: WireError) => error.code === 'SHUTTING_DOWN',
  )
})

test('A place in the pool is free again when the connection could not be opened', async () => {
  let broken = true
  const open = async () => {
    if (broken) throw new Error('refused')
    return { broken: false, discard: () => undefined }
  }
  const pool = new Pool({ open, limit: 1, queue: 0, waitMs: 20 })
  await assert.rejects(async () => pool.acquire(), /refused/)
  broken = false
  await pool.acquire()
  pool.close()
})

test('Errors are mapped by their number: MariaDB and MySQL name some of them differently', () => {
  const map = (errno: number, sqlState: string, sqlMessage = '', showMessage = true) => {
    const error = wireErrorOf(Object.assign(new Error(sqlMessage), { errno, sqlState, sqlMessage }), { reads: false, showMessage })
    assert.ok(error instanceof WireError)
    return error
  }
  // The check constraint of MariaDB and of MySQL.
  for (const errno of [4025, 3819]) assert.equal(map(errno, '23000').details?.kind, 'check')
  assert.equal(map(1062, '23000', "Duplicate entry 'a@b.example' for key 'users.email'").details?.constraint, 'users.email')
  assert.ok(!map(1062, '23000', "Duplicate entry 'a@b.example' for key 'users.email'", false).message.includes('a@b.example'))
  // The end of a statement by max_statement_time and by max_execution_time.
  for (const errno of [1969, 3024, 1317]) assert.equal(map(errno, '70100').code, 'QUERY_TIMEOUT')
  for (const errno of [1213, 1205]) assert.deepEqual([map(errno, '40001').code, map(errno, '40001').retryable], ['TX_CONFLICT', true])
  assert.equal(map(1792, '25006').code, 'READ_ONLY')
  assert.equal(map(1064, '42000').code, 'SQL_ERROR')
})

test('The warning about unsigned requests names what allows them: a missing secret, or the setting', () => {
  for (const [secret, advice] of [
    ['', /; set RDB_PROXY_SECRET to change that$/],
    ['s', /; set RDB_PROXY_REQUIRE_SIGNING to auto or true to change that$/],
  ] as const) {
    const settings = { RDB_PROXY_REQUIRE_SIGNING: 'false', RDB_PROXY_SECRET: secret, RDB_PROXY_KEY_ID: '' } as Settings
    const options = { keys: [] as RdbProxyOptions['keys'], timeoutMs: 1, maxTimeoutMs: 1 } as RdbProxyOptions
    const keys = keysOf({ keyId: '', secret, options: limits })
    const [warning = ''] = checkSettings({ settings, options, keys, production: false, loopback: true, serving: true })
    assert.match(warning, advice)
  }
})
