import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Proxies } from './testing/proxies.js'

/** Checks the rate limit of keys. */
export function describeRates(proxies: Proxies): void {
  it('limits the rate of each key; unsigned requests do not count', async () => {
    const client = await proxies.start({ EDGE_REMOTE_MODE: 'sql', EDGE_RATE_PER_MINUTE: '3' })
    const ask = (keyId: string, secret?: string) =>
      client.call('query', { sql: 'SELECT 1 AS a' }, { keyId, ...(secret === undefined ? {} : { secret }) })
    const flood = await Promise.all(Array.from({ length: 20 }, () => ask('busy', 'wrong')))
    assert.ok(flood.every(({ status }) => status === 401))
    const replies = []
    // A new minute may begin in between.
    while (replies.length < 8 && replies.at(-1)?.status !== 429) replies.push(await ask('busy'))
    const last = replies.at(-1)
    assert.ok(replies.length > 3 && replies.slice(0, -1).every(({ status }) => status === 200), replies.map(({ status }) => status).join())
    assert.deepEqual([last?.status, last?.body.code, last?.body.retryable], [429, 'RATE_LIMITED', true])
    const wait = Number(last?.headers.get('retry-after'))
    assert.ok(wait >= 1 && wait <= 60, `${wait}`)
    assert.equal((await ask('idle')).status, 200)
  })
}

/** Checks the limit of all key ids, and the scopes of each. */
export function describeKeys(proxies: Proxies): void {
  it('limits the requests of all key ids together', async () => {
    const client = await proxies.start({ EDGE_REMOTE_MODE: 'sql', EDGE_RATE_TOTAL_PER_MINUTE: '3' })
    const replies = []
    // A new minute may begin in between.
    while (replies.length < 8 && replies.at(-1)?.status !== 429)
      replies.push(await client.call('query', { sql: 'SELECT 1 AS a' }, { keyId: `key-${replies.length}` }))
    assert.ok(replies.length > 3 && replies.slice(0, -1).every(({ status }) => status === 200), replies.map(({ status }) => status).join())
    assert.deepEqual([replies.at(-1)?.body.code, replies.at(-1)?.body.details], ['RATE_LIMITED', { limit: 0, total: 3 }])
  })

  it('runs a statement with scopes, and SQL, only for key ids that have them', async () => {
    const statement = { sql: 'SELECT 1 AS a', scopes: ['users:read', 'eu'] }
    const settings = {
      EDGE_REMOTE_MODE: 'sql',
      EDGE_STATEMENTS_JSON: JSON.stringify({ version: 1, statements: { open: 'SELECT 1 AS a', scoped: statement } }),
    }
    const scopes = { reader: ['read'], writer: ['write'], user: ['users:read', 'eu'], half: ['users:read'] }
    const client = await proxies.start({ ...settings, EDGE_SCOPES: JSON.stringify(scopes) })
    const calls = {
      open: ['statement', { statementId: 'open' }],
      scoped: ['query', { statementId: 'scoped' }],
      batch: ['batch', { statements: [{ statementId: 'open' }, { statementId: 'scoped' }] }],
      read: ['query', { sql: 'SELECT 1 AS a' }],
      execRead: ['exec', { sql: 'SELECT 1 AS a' }],
      write: ['exec', { sql: 'CREATE TABLE IF NOT EXISTS scoped (a)' }],
    } as const
    const allowed: readonly (readonly [keyId: string, ...names: string[]])[] = [
      ['reader', 'open', 'read', 'execRead'],
      ['writer', 'open', 'write'],
      ['user', 'open', 'scoped', 'batch'],
      ['half', 'open'],
      ['constructor', 'open'],
      ['unlisted', 'open'],
    ]
    for (const [keyId, ...own] of allowed) {
      for (const [name, [path, body]] of Object.entries(calls)) {
        const { status, body: answer } = await client.call(path, body, { keyId })
        const runs = own.includes(name)
        assert.deepEqual([status, answer.code], runs ? [200, undefined] : [403, 'FORBIDDEN_SCOPE'], `${keyId}: ${name}`)
      }
    }
    const without = await proxies.start(settings)
    assert.equal((await without.call(...calls.scoped)).body.code, 'FORBIDDEN_SCOPE')
    assert.equal((await without.call(...calls.write)).status, 200)
  })
}

/** Checks which settings a proxy accepts. */
export function describeConfig(proxies: Proxies): void {
  const wrong = [
    [{ EDGE_REMOTE_SECRET: '' }, 'EDGE_REMOTE_SECRET'],
    [{ EDGE_REMOTE_MODE: 'all' }, 'EDGE_REMOTE_MODE'],
    [{ EDGE_STATEMENTS_JSON: '{"a":' }, 'EDGE_STATEMENTS_JSON'],
    [{ EDGE_STATEMENTS_JSON: '{"a":"SELECT 1; SELECT 2"}' }, 'EDGE_STATEMENTS_JSON'],
    [{ EDGE_RATE_PER_MINUTE: 'many' }, 'EDGE_RATE_PER_MINUTE'],
    [{ EDGE_RATE_TOTAL_PER_MINUTE: '-1' }, 'EDGE_RATE_TOTAL_PER_MINUTE'],
    [{ EDGE_SCOPES: 'read' }, 'EDGE_SCOPES'],
    [{ EDGE_SCOPES: '{"shop":"read"}' }, 'EDGE_SCOPES'],
    [{ EDGE_SCOPES: '{"a shop":["read"]}' }, 'EDGE_SCOPES'],
  ] as const
  for (const [settings, name] of wrong) {
    it(`does not start with ${JSON.stringify(settings)}, and names ${name}`, async () => {
      await assert.rejects(proxies.start(settings), (error: Error & { code?: string }) => {
        assert.deepEqual([error.code, error.message.includes(name)], ['EDGE_PROXY_CONFIG', true])
        return true
      })
    })
  }

  it('uses APP_KEY if it has no separate secret', async () => {
    const client = await proxies.start({ EDGE_REMOTE_MODE: 'sql', EDGE_REMOTE_SECRET: '', APP_KEY: 'the key of the app' })
    assert.equal((await client.call('query', { sql: 'SELECT 1 AS a' }, { secret: 'the key of the app' })).status, 200)
    assert.equal((await client.call('query', { sql: 'SELECT 1 AS a' })).status, 401)
  })
}
