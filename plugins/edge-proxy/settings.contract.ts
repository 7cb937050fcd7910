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

/** Checks which settings a proxy accepts. */
export function describeConfig(proxies: Proxies): void {
  const wrong = [
    [{ EDGE_REMOTE_SECRET: '' }, 'EDGE_REMOTE_SECRET'],
    [{ EDGE_REMOTE_MODE: 'all' }, 'EDGE_REMOTE_MODE'],
    [{ EDGE_STATEMENTS_JSON: '{"a":' }, 'EDGE_STATEMENTS_JSON'],
    [{ EDGE_STATEMENTS_JSON: '{"a":"SELECT 1; SELECT 2"}' }, 'EDGE_STATEMENTS_JSON'],
    [{ EDGE_RATE_PER_MINUTE: 'many' }, 'EDGE_RATE_PER_MINUTE'],
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
