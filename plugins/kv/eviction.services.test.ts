import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { type RedisServer, redisServer } from '../../scripts/testing/redis-server.js'
import { kv } from './index.js'

for (const [name, plugin, keeps] of [
  ['kv', () => kv(), 'used nonces and token revocations'],
  ['queues', () => queues(), 'jobs'],
] as const) {
  describe(`${name} on a Redis that evicts keys`, () => {
    let redis: RedisServer
    before(async () => {
      redis = await redisServer('--maxmemory-policy', 'volatile-lru', '--user', 'app', 'on', '>hunter2', '~*', '&*', '+@all', '-info')
    })
    after(() => redis.stop())

    const boot = (env: Readonly<Record<string, string>> = {}, roles: readonly ('http' | 'worker')[] = ['http']): Promise<TestHost> =>
      createTestHost({ plugins: [plugin()], roles, env: { REDIS_URL: redis.url, ...env } })
    const warnings = async (host: TestHost): Promise<readonly (string | undefined)[]> => {
      await host.stop()
      return host.logs.filter((line) => line.level === 'warn' && line.plugin === name).map((line) => line.msg)
    }

    it('does not start in production, and reports the plugin, the server, the risk and the fix', async () => {
      await assert.rejects(boot({ NODE_ENV: 'production' }), (error) => {
        assert.match(
          String(error),
          new RegExp(`${name}: Redis at 127\\.0\\.0\\.1:\\d+ has maxmemory-policy volatile-lru.*${keeps}.*noeviction.*REDIS_URL`),
        )
        return true
      })
    })

    it('starts with a warning outside of production, and for a command', async () => {
      for (const host of [await boot(), await boot({ NODE_ENV: 'production' }, [])]) {
        const said = (await warnings(host)).filter((line) => /volatile-lru/.test(line ?? ''))
        assert.equal(said.length, 1)
      }
    })

    it('warns once when Redis does not report its policy', async () => {
      const url = redis.url.replace('redis://', 'redis://app:hunter2@')
      const said = (await warnings(await boot({ NODE_ENV: 'production', REDIS_URL: url }))).filter((line) =>
        /maxmemory-policy/.test(line ?? ''),
      )
      assert.equal(said.length, 1)
      assert.doesNotMatch(said.join(), /hunter2/)
    })
  })
}
