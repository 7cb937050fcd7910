import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Clock } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import type { QueueSample, Queues } from 'zin/plugins/queues'
import { Snapshots } from './snapshots.js'
import type { WorkerAttempts } from './worker-attempts.js'

it('a sample that began earlier and ended later does not replace a newer one', async () => {
  let now = 1_000_000
  const stored = new Map<string, string>()
  const kv = {
    get: async (key: string) => stored.get(key) ?? null,
    set: async (key: string, value: string) => stored.set(key, value).size > 0,
  } as unknown as Kv
  const ends: (() => void)[] = []
  const sampled = (waiting: number) => new Map([['mails', { counts: { waiting }, paused: false } as unknown as QueueSample]])
  const queues = {
    names: async () => ['mails'],
    sample: () => new Promise((resolve) => ends.push(() => resolve(sampled(ends.length)))),
  } as unknown as Queues
  const attempts = { read: async () => new Map() } as unknown as WorkerAttempts
  const clock = { now: () => now, monotonic: () => now } as Clock
  const snapshots = new Snapshots({ queues, attempts, kv, clock })
  const begun = async (count: number): Promise<void> => {
    while (ends.length < count) await new Promise((resolve) => setImmediate(resolve))
  }
  const earlier = snapshots.take()
  await begun(1)
  now += 5
  const later = snapshots.take()
  await begun(2)
  ends[1]?.()
  await later
  ends[0]?.()
  await earlier
  assert.equal((await snapshots.current()).at, now)
  assert.deepEqual(
    [...stored.values()].map((text) => JSON.parse(text).at),
    [now],
  )
})
