import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { type QueueEvent, type Queues, queuesService } from './index.js'

/** Streams of the events of a queue, on both stores. */
export function eventsContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`events on ${name}`, () => {
    let host: TestHost
    let queues: Queues
    let number = 0
    const fresh = (): string => `q${++number}`

    before(async () => {
      host = await createTestHost(await makeOptions())
      queues = host.service(queuesService)
    })
    after(() => host.stop())

    const take = async (stream: AsyncIterator<QueueEvent>, count: number): Promise<QueueEvent[]> => {
      const events: QueueEvent[] = []
      while (events.length < count) events.push((await stream.next()).value as QueueEvent)
      return events
    }
    const addedIds = (events: readonly QueueEvent[]) => events.filter(({ event }) => event === 'added').map(({ jobId }) => jobId)

    it('stream every event of a queue from the start of the stream, or from after any event', async () => {
      const queue = fresh()
      await queues.add(queue, 'before', {})
      const stream = await queues.follow(queue)
      // More than one read of either store, and none asked for yet.
      const jobs = await queues.addBulk(
        queue,
        Array.from({ length: 150 }, (_, n) => ({ name: `n${n}` })),
      )
      const ids = jobs.map(({ id }) => id)
      const events = await take(stream, 300)
      assert.deepEqual(addedIds(events), ids)
      await stream.return?.()
      const half = events[149] as QueueEvent
      const again = await queues.follow(queue, { after: half.id })
      assert.deepEqual(await take(again, 150), events.slice(150))
      await again.return?.()
      const all = await queues.follow(queue, { after: '0' })
      assert.deepEqual((await take(all, 302)).slice(2), events)
      await all.return?.()
    })

    it('end a waiting stream with its signal, and with the host', async () => {
      const end = new AbortController()
      const stream = await queues.follow(fresh(), { signal: end.signal })
      const next = stream.next()
      end.abort()
      assert.equal((await next).done, true)
      const other = await createTestHost(await makeOptions())
      const left = await other.service(queuesService).follow('left')
      const last = left.next()
      await other.stop()
      assert.equal((await last).done, true)
    })

    it('refuse to continue where events are missing', async () => {
      const queue = fresh()
      await queues.add(queue, 'x', {})
      const stream = await queues.follow(queue, { after: '0' })
      const [first] = await take(stream, 1)
      await stream.return?.()
      const behind = await queues.follow(queue, { after: first?.id ?? '' })
      await queues.queue(queue).obliterate()
      await queues.add(queue, 'y', {})
      const rest = (async () => {
        for await (const _ of behind);
      })()
      await assert.rejects(rest, { code: 'QUEUE_EVENTS_LOST', status: 410 })
      for (const after of [first?.id ?? '', 'nonsense', '$'])
        await assert.rejects(queues.follow(queue, { after }), { code: 'QUEUE_EVENTS_LOST', status: 410 })
    })
  })
}
