import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Queue } from 'bullmq'
import { definePlugin } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { workerHealth } from 'zin/plugins/worker-health'
import { createTestHost, fake } from 'zin/testing'
import { type PluginHealthTerm, workers, workersService } from '../index.js'

/** A plugin whose listener returns this. */
const judge = (name: string, termsFor: (worker: string) => unknown) =>
  definePlugin({
    name,
    version: '1.0.0',
    setup: ({ hooks }) =>
      void hooks.on('collectHealthTerms', { handler: (worker) => termsFor(worker) as readonly PluginHealthTerm[], timeoutMs: 50 }),
  })()

describe('health terms of plugins', () => {
  it('lower the score, with the name of their plugin; a plugin that fails, hangs or returns invalid terms has no effect', async () => {
    // No job runs here, so a fake queue store saves time.
    const queue = { isPaused: async () => false } as unknown as Queue
    const host = await createTestHost({
      services: [fake(queuesService, { backend: 'embedded', addCanceller: () => () => undefined, queue: () => queue })],
      plugins: [
        ...[database(), kv(), cluster(), ops(), workers(), workerHealth()],
        judge('memory', (worker) => [{ name: 'heap', penalty: 25, reason: `${worker} takes 2 GB` }]),
        judge('broken', () => Promise.reject(new Error('no figures'))),
        judge('slow', () => new Promise(() => undefined)),
        judge('greedy', () => [{ name: 'all', penalty: 101, reason: 'because' }]),
      ],
    })
    await host.service(workersService).create({ name: 'judged', queueName: 'judged', processor: () => 1 })
    const { health } = (await host.inject({ path: '/api/workers/judged/health' })).body
    assert.equal(health.score, 75)
    assert.deepEqual(
      health.terms.map(({ plugin, name, penalty }: PluginHealthTerm & { plugin: string }) => [plugin, name, penalty]).sort(),
      [
        ['broken', 'unknown', 0],
        ['greedy', 'unknown', 0],
        ['memory', 'heap', 25],
        ['slow', 'unknown', 0],
      ],
    )
    const reasons = Object.fromEntries(health.terms.map(({ plugin, reason }: Record<string, string>) => [plugin, reason]))
    assert.equal(reasons.memory, 'judged takes 2 GB')
    assert.match(reasons.broken, /no figures/)
    assert.match(reasons.slow, /50 ms/)
    assert.equal((await host.service(workersService).status('judged')).health, 75)
    await host.stop()
  })
})
