import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WireError } from 'zin/plugins/sql-wire'
import { fakeClock, memoryLogger } from 'zin/testing'
import type { Settings } from './assemble.js'
import { allows, keysOf } from './auth/keys.js'
import { Rates } from './auth/rates.js'
import { BootCheck, excessPrivileges, powerfulPrivileges, rolesIn } from './boot-check.js'
import { checkSettings } from './check-settings.js'
import type { RdbProxyOptions } from './options.js'
import { outcomeOf } from './service.js'
import { LoginError, wireErrorOf } from './sql/db-errors.js'
import type { Gateway } from './sql/gateway.js'
import { OpenTransactions } from './sql/open-transactions.js'
import { Pool } from './sql/pool.js'
import { sqlCache } from './sql/sql-cache.js'
import { watchReads } from './stream.js'

const limits = { keys: [], perMinute: 0, maxRows: 1, maxBytes: 1, timeoutMs: 1 }

test('Scopes match by name and pattern, and a bare * only scopes that statements require', () => {
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

test('Without a key id any id is accepted; with one only that id', () => {
  const any = keysOf({ keyId: '', secret: 'x', options: limits })
  assert.equal(any.find('whoever')?.id, 'shared')
  const named = keysOf({ keyId: 'shop', secret: 'x', options: limits })
  assert.deepEqual([named.find('shop')?.id, named.find('whoever')], ['shop', undefined])
  assert.equal(keysOf({ keyId: '', secret: '', options: limits }).count, 0)
})

test('The bucket of a key refills continuously, and keys do not share it', () => {
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

test('Privileges beyond reading are found in the output of SHOW GRANTS', () => {
  assert.deepEqual(
    excessPrivileges(["GRANT USAGE ON *.* TO `r`@`%` IDENTIFIED BY PASSWORD '*0'", 'GRANT SELECT, SHOW VIEW ON `shop`.* TO `r`@`%`']),
    [],
  )
  assert.deepEqual(excessPrivileges(['GRANT SELECT (id, name), UPDATE (name) ON `shop`.`users` TO `r`@`%`']), ['UPDATE'])
  assert.deepEqual(excessPrivileges(['GRANT ALL PRIVILEGES ON *.* TO `r`@`%` WITH GRANT OPTION']), ['ALL PRIVILEGES', 'GRANT OPTION'])
  assert.deepEqual(excessPrivileges(['GRANT SELECT, FILE ON *.* TO `r`@`%`']), ['FILE'])
  assert.deepEqual(excessPrivileges(['GRANT `writers` TO `r`@`%`']), ['`writers`'])
})

test('Privileges beyond the database of the app are found in the output of SHOW GRANTS', () => {
  const cases: readonly (readonly [grant: string, found: readonly string[]])[] = [
    ["GRANT USAGE ON *.* TO `w`@`%` IDENTIFIED BY PASSWORD '*0'", []],
    ['GRANT ALL PRIVILEGES ON `shop`.* TO `w`@`%`', []],
    ['GRANT ALL PRIVILEGES ON `shop\\_%`.* TO `w`@`%`', []],
    ['GRANT EXECUTE ON FUNCTION `shop`.`f` TO `w`@`%`', []],
    ['GRANT USAGE, SHOW DATABASES ON *.* TO `w`@`%`', []],
    ['GRANT `writers` TO `w`@`%`', []],
    ['GRANT PROCESS ON *.* TO `w`@`%`', ['PROCESS on all databases']],
    ['GRANT SELECT ON *.* TO `w`@`%`', ['SELECT on all databases']],
    ['GRANT SELECT ON `mysql`.* TO `w`@`%`', ['SELECT on mysql']],
    ['GRANT ALL PRIVILEGES ON `%`.* TO `w`@`%`', ['ALL PRIVILEGES on mysql']],
    ['GRANT ALL PRIVILEGES ON `MY%`.* TO `w`@`%`', ['ALL PRIVILEGES on mysql']],
    ['GRANT SELECT ON `_ys`.* TO `w`@`%`', ['SELECT on sys']],
    ["GRANT PROXY ON ''@'%' TO `w`@`%`", ["PROXY on ''@'%'"]],
    [
      'GRANT EXECUTE, EVENT, TRIGGER, RELOAD, FEDERATED ADMIN ON *.* TO `w`@`%`',
      ['EXECUTE', 'EVENT', 'TRIGGER', 'RELOAD', 'FEDERATED ADMIN'].map((name) => `${name} on all databases`),
    ],
    ['GRANT ALL PRIVILEGES ON *.* TO `w`@`%` WITH GRANT OPTION', ['ALL PRIVILEGES on all databases', 'GRANT OPTION on all databases']],
    ['GRANT FILE ON *.* TO `w`@`%`', ['FILE on all databases']],
    ['GRANT INSERT ON *.* TO `w`@`%`', ['INSERT on all databases']],
    ['GRANT UPDATE (`x`) ON `mysql`.`user` TO `w`@`%`', ['UPDATE on mysql']],
  ]
  for (const [grant, found] of cases) assert.deepEqual(powerfulPrivileges([grant]), found, grant)
})

test('Roles are read whatever their names; what cannot be read is undefined', () => {
  const cases: readonly (readonly [string, readonly string[] | undefined])[] = [
    ["GRANT `a'b` TO `w`@`%`", ["`a'b`"]],
    ['GRANT `a``b`@`%`,`usage ON zin.* TO x`@`%` TO `w`@`%`', ['`a``b`@`%`', '`usage ON zin.* TO x`@`%`']],
    ["GRANT 'a', `b` TO w WITH ADMIN OPTION", ["'a'", '`b`']],
    ['GRANT rf TO w@127.0.0.1', ['rf']],
    ['GRANT `a TO `w`', undefined],
    ['GRANT SELECT ON `zin`.* TO `w`@`%`', []],
    ['GRANT SELECT (`a ON b`, `c`), INSERT ON `my db`.`t` TO `w`@`%`', []],
    ['SET DEFAULT ROLE `a` FOR `w`@`%`', []],
  ]
  for (const [line, roles] of cases) assert.deepEqual(rolesIn(line), roles, line)
  assert.deepEqual(powerfulPrivileges(['GRANT SELECT (`a ON b`, `c`) ON `my db`.`t` TO `w`@`%`']), [])
})

test('A pool serves in order, refuses callers that wait too long or exceed the queue, and closes all connections', async () => {
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

test('A place in the pool is freed if its connection cannot be opened', async () => {
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

test('Errors are mapped by number, because MariaDB and MySQL name some differently', () => {
  const map = (errno: number, sqlState: string, sqlMessage = '', showMessage = true) => {
    const error = wireErrorOf(Object.assign(new Error(sqlMessage), { errno, sqlState, sqlMessage }), { reads: false, showMessage })
    assert.ok(error instanceof WireError)
    return error
  }
  // Check constraints of MariaDB and MySQL.
  for (const errno of [4025, 3819]) assert.equal(map(errno, '23000').details?.kind, 'check')
  assert.equal(map(1062, '23000', "Duplicate entry 'a@b.example' for key 'users.email'").details?.constraint, 'users.email')
  assert.ok(!map(1062, '23000', "Duplicate entry 'a@b.example' for key 'users.email'", false).message.includes('a@b.example'))
  // Interrupted by max_statement_time and by max_execution_time.
  for (const errno of [1969, 3024, 1317]) assert.equal(map(errno, '70100').code, 'QUERY_TIMEOUT')
  for (const errno of [1213, 1205]) assert.deepEqual([map(errno, '40001').code, map(errno, '40001').retryable], ['TX_CONFLICT', true])
  assert.equal(map(1792, '25006').code, 'READ_ONLY')
  assert.equal(map(1064, '42000').code, 'SQL_ERROR')
})

test('The warning about unsigned requests names the cause: a missing secret, or the setting', () => {
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

test('Production requires long secrets, backup secrets included', () => {
  const settings = { RDB_PROXY_REQUIRE_SIGNING: 'auto', RDB_PROXY_SECRET: '', RDB_PROXY_KEY_ID: '', DB_USERNAME: 'shop' } as Settings
  const check = (secretsBackup: string[]): readonly string[] => {
    const own = [{ id: 'shop', secret: 'x'.repeat(32), secretsBackup }]
    const options = { keys: own as RdbProxyOptions['keys'], timeoutMs: 1, maxTimeoutMs: 1 } as RdbProxyOptions
    const keys = keysOf({ keyId: '', secret: '', options: { ...limits, keys: own } })
    return checkSettings({ settings, options, keys, production: true, loopback: true, serving: true })
  }
  assert.deepEqual(check(['y'.repeat(32)]), [])
  assert.throws(() => check(['short']), /secrets of 32 bytes or more/)
})

test('The outcome of a write is unknown if its connection was lost, not if it could not be opened or the server reported an error', () => {
  const after = (error: Error): readonly unknown[] => {
    const { code, details, retryable } = outcomeOf(wireErrorOf(error, { reads: false, showMessage: false }), false) as WireError
    return [code, retryable, details?.outcome]
  }
  const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', errno: -104 })
  const closed = Object.assign(new Error('closed'), { code: 'PROTOCOL_CONNECTION_LOST' })
  const shutdown = Object.assign(new Error('shutdown'), { code: 'ER_SERVER_SHUTDOWN', errno: 1053, sqlState: '08S01' })
  for (const lost of [reset, closed]) assert.deepEqual(after(lost), ['DB_UNAVAILABLE', false, 'unknown'])
  for (const known of [new LoginError(reset), shutdown]) assert.deepEqual(after(known), ['DB_UNAVAILABLE', true, undefined])
})

test('A key cannot have the id under which a secret without an id is known', () => {
  const check = (keyId: string): readonly string[] => {
    const settings = { RDB_PROXY_REQUIRE_SIGNING: 'auto', RDB_PROXY_SECRET: 's', RDB_PROXY_KEY_ID: keyId } as Settings
    const own = [{ id: 'shared', secret: 'x' }]
    const options = { keys: own as RdbProxyOptions['keys'], timeoutMs: 1, maxTimeoutMs: 1 } as RdbProxyOptions
    const keys = keysOf({ keyId, secret: 's', options: { ...limits, keys: own } })
    return checkSettings({ settings, options, keys, production: false, loopback: true, serving: true })
  }
  assert.throws(() => check(''), /the id "shared" is reserved/)
  assert.deepEqual(check('shop'), [])
})

test('A transaction that expires while a statement runs is not kept', async () => {
  let rollbacks = 0
  const open = new OpenTransactions({ idleMs: 60_000, maxMs: 60_000, most: 1, now: () => 0 })
  const rollback = async (): Promise<void> => void rollbacks++
  const { baton } = open.add({ rollback }, 'shop')
  const taken = open.take(baton, 'shop')
  await open.close()
  assert.equal(rollbacks, 1)
  assert.throws(
    () => taken.keep(),
    (error: WireError) => error.code === 'TX_EXPIRED' && error.details?.rolledBack === true,
  )
})

test('A reading user that can create a table but not drop it fails the check, which names the table', async () => {
  const session = {
    rows: async () => [{ grants: 'GRANT SELECT ON `shop`.* TO `r`@`%`' }],
    command: async (sql: string) => {
      if (sql.startsWith('drop')) throw new Error('DROP command denied')
      return 0
    },
    discard: () => undefined,
  }
  const gateway = { openReader: async () => session, openWriter: async () => session, where: 'shop' } as unknown as Gateway
  const check = new BootCheck({ gateway, user: 'r', production: true, allowed: false, log: memoryLogger() })
  await assert.rejects(check.start(), /may create tables \(drop the table zin_proxy_probe_\d+ yourself/)
})

test('A reading user of a read-only server that can create a temporary table fails the check', async () => {
  const session = {
    rows: async () => [{ grants: 'GRANT SELECT ON `shop`.* TO `r`@`%`' }],
    command: async (sql: string) => {
      if (sql.startsWith('create table')) throw Object.assign(new Error('running with --read-only'), { errno: 1290, sqlState: 'HY000' })
      return 0
    },
    discard: () => undefined,
  }
  const gateway = { openReader: async () => session, openWriter: async () => session, where: 'shop' } as unknown as Gateway
  const check = new BootCheck({ gateway, user: 'r', production: true, allowed: false, log: memoryLogger() })
  await assert.rejects(check.start(), /may create temporary tables/)
})

test('An error of the server other than a denial fails the check, and is not reported as an error of the statement of a caller', async () => {
  const session = {
    rows: async () => [{ grants: 'GRANT SELECT ON `shop`.* TO `r`@`%`' }],
    command: (sql: string) => (sql.startsWith('create') ? Promise.reject(failure) : Promise.resolve(0)),
    discard: () => undefined,
  }
  const gateway = { openReader: async () => session, openWriter: async () => session, where: 'shop' } as unknown as Gateway
  const check = new BootCheck({ gateway, user: 'r', production: true, allowed: false, log: memoryLogger() })
  let failure = Object.assign(new Error('The table is full'), { errno: 1114, sqlState: 'HY000' })
  await check.start()
  await assert.rejects(async () => check.check(), { code: 'CONFIG_ERROR', status: 503, message: /could not be checked/ })
  failure = Object.assign(new Error('CREATE command denied'), { errno: 1142, sqlState: '42000' })
  await check.check()
  assert.equal(check.check(), undefined)
})

test('A stream whose client stops reading is reported, and one that is read is not', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let stalls = 0
  async function* pieces() {
    yield 'a'
    yield 'b'
  }
  const text = watchReads(pieces(), 30_000, () => void stalls++)
  await text.next()
  t.mock.timers.tick(29_999)
  await text.next()
  t.mock.timers.tick(29_999)
  assert.equal(stalls, 0)
  t.mock.timers.tick(1)
  assert.equal(stalls, 1)
  await text.next()
  t.mock.timers.tick(60_000)
  assert.equal(stalls, 1)
})

test('Caches by SQL text are bounded by the size of the texts', () => {
  const cache = sqlCache<boolean>()
  for (let text = 0; text < 100; text++) cache.set(`${text} ${'x'.repeat(100_000)}`, false)
  assert.ok(cache.size > 1 && cache.size < 50, `${cache.size}`)
  cache.set('', false)
  assert.equal(cache.get(''), false)
})
