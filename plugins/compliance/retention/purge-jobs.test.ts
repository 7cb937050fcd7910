import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Queues } from 'zin/plugins/queues'
import { purgeJobs } from './purge-jobs.js'

const unavailable = new Error('no response')

function queuesWith(broken: Readonly<Record<string, Error>>): Pick<Queues, 'isUnavailable' | 'names' | 'queue'> {
  const queue = (name: string) => ({
    clean: async () => {
      if (broken[name] !== undefined) throw broken[name]
      return ['1', '2']
    },
  })
  return { isUnavailable: (error) => error === unavailable, names: async () => ['a', 'b', 'c'], queue: queue as unknown as Queues['queue'] }
}

it('a broken queue does not keep old jobs of others, and is named', async () => {
  const queues = queuesWith({ b: new Error('WRONGTYPE') })
  const purged = await purgeJobs({ queues, ageMs: 1, steps: 100 })
  assert.deepEqual(purged, { jobs: 8, more: false, problems: ['jobs of queue "b": WRONGTYPE'] })
})

it('a store that does not respond ends the purge', async () => {
  await assert.rejects(purgeJobs({ queues: queuesWith({ b: unavailable }), ageMs: 1, steps: 100 }), unavailable)
})
