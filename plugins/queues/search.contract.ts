import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createTestHost, type TestHost, type TestHostOptions } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { type Queues, queues, queuesService } from './index.js'

/** Finding jobs by declared fields of their data, on both stores. */
export function searchContract(name: string, makeOptions: () => Promise<TestHostOptions>): void {
  describe(`the search for jobs by fields on ${name}`, () => {
    let host: TestHost
    let service: Queues
    const search = { orders: ['customer.id', 'tags', 'paid'], moved: ['customer.id'], sealed: ['customer.id'] }
    const find = async (queue: string, values: Readonly<Record<string, string>>, limit = 100) => {
      const { jobs, looked, of } = await service.find(queue, values, { limit })
      return { ids: jobs.map(({ job }) => job.id), looked, of }
    }
    const ids = async (queue: string, values: Readonly<Record<string, string>>) => (await find(queue, values)).ids

    before(async () => {
      const options = await makeOptions()
      host = await createTestHost({
        ...options,
        plugins: [queues({ search })],
        hooks: {
          placeJobField: (places, queue, path) => (queue === 'sealed' ? [['open', path], ...places] : undefined),
          transformJobData: (data, queue) =>
            queue === 'sealed' ? { open: { 'customer.id': (data as { customer: { id: string } }).customer.id } } : undefined,
        },
      })
      service = host.service(queuesService)
    })
    after(() => host.stop())

    it('finds text, numbers, booleans and each value of a list, whatever way the job was added, and the newest first', async () => {
      const one = await service.add('orders', 'x', { customer: { id: 'c-1' }, tags: ['new', 7], paid: true })
      const two = await service.addBulk('orders', [
        { name: 'x', data: { customer: { id: 42 }, paid: 'true' } },
        { name: 'x', data: { customer: { id: '42' }, tags: 'new' } },
        { name: 'x', data: { customer: { id: ['42'] }, paid: false } },
      ])
      const flow = await service.addFlow({
        name: 'parent',
        queueName: 'orders',
        data: { customer: { id: 'c-1' } },
        children: [{ name: 'child', queueName: 'orders', data: { customer: { id: 'c-2' } } }],
      })
      const scheduled = await service.schedule('orders', 'hourly', { every: 3_600_000 }, { name: 'x', data: { customer: { id: 'c-3' } } })
      const [a, b, c] = two.map(({ id }) => id)
      assert.deepEqual([...(await ids('orders', { 'customer.id': 'c-1' }))].sort(), [one.id, flow.job.id].sort())
      assert.deepEqual(await ids('orders', { 'customer.id': '42' }), [c, b, a])
      assert.deepEqual(await ids('orders', { tags: 'new' }), [b, one.id])
      assert.deepEqual(await ids('orders', { tags: '7' }), [one.id])
      assert.deepEqual([...(await ids('orders', { paid: 'true' }))].sort(), [one.id, a].sort())
      assert.deepEqual(await ids('orders', { 'customer.id': '42', tags: 'new' }), [b])
      assert.deepEqual(await ids('orders', { 'customer.id': 'c-2' }), [flow.children?.[0]?.job.id])
      assert.deepEqual(await ids('orders', { 'customer.id': 'c-3' }), [scheduled?.id])
      const many = await service.addBulk(
        'orders',
        Array.from({ length: 12 }, () => ({ name: 'x', data: { tags: 'many' } })),
      )
      const newest = many.map(({ id }) => id).reverse()
      assert.deepEqual(await ids('orders', { tags: 'many' }), newest)
      for (const value of ['c', 'C-1', 'c-1%', '*', "'", '42.0', '', 'x'.repeat(300)]) {
        assert.deepEqual(await ids('orders', { 'customer.id': value }), [], value)
      }
      assert.deepEqual(await find('orders', { 'customer.id': '42' }, 2), { ids: [c, b], looked: 2, of: 3 })
    })

    it('finds a job until it is deleted, and again when the deletion is undone', async () => {
      const values = { 'customer.id': 'kept' }
      const data = { customer: { id: 'kept' } }
      const first = await service.add('moved', 'x', data)
      assert.ok(await service.fail('moved', first.id ?? '', 'planted'))
      const second = await service.add('moved', 'x', data, { delay: 3_600_000 })
      assert.deepEqual(await ids('moved', values), [second.id, first.id])
      await service.deleteJob('moved', first.id ?? '', { batch: 'b1', ms: 60_000 })
      assert.deepEqual(await ids('moved', values), [second.id])
      // Enough further jobs for each entry to be looked at.
      for (let n = 0; n < 5; n++) await service.add('moved', 'x', { customer: { id: `other-${n}` } })
      for await (const { restored } of service.restoreJobs('moved', 'b1')) assert.equal(restored, 1)
      assert.deepEqual(await ids('moved', values), [second.id, first.id])
      await service.purge('moved', [first.id ?? '', second.id ?? ''])
      assert.deepEqual(await find('moved', values), { ids: [], looked: 0, of: 0 })
    })

    it('finds a job by its current values, not by previous ones', async () => {
      const job = await service.add('moved', 'x', { customer: { id: 'before' } })
      await job.updateData({ customer: { id: 'after' } })
      assert.deepEqual(await ids('moved', { 'customer.id': 'before' }), [])
    })

    it('finds the data of the last job that was added while one with its deduplication id waited or ran', async () => {
      const of = (id: string) => ({ 'customer.id': id })
      const add = (id: string) => service.add('moved', 'x', { customer: { id } }, { deduplication: { id: 'd', mode: 'keep-latest' } })
      const first = await add('l-1')
      await add('l-2')
      assert.deepEqual([await ids('moved', of('l-1')), await ids('moved', of('l-2'))], [[], [first.id]])
      let end: () => void = () => undefined
      const gate = new Promise<void>((resolve) => (end = resolve))
      const worker = service.worker('moved', () => gate, { concurrency: 100 })
      await eventually('it runs', async () => (await service.job('moved', first.id ?? ''))?.state === 'active')
      await add('l-3')
      end()
      await eventually('the last one is found', async () => {
        const [found, ...others] = await ids('moved', of('l-3'))
        return found !== undefined && found !== first.id && others.length === 0
      })
      await worker.close()
    })

    it('searches the places that a plugin returns for a field', async () => {
      const job = await service.add('sealed', 'x', { customer: { id: 'inside' } })
      assert.deepEqual((await service.job('sealed', job.id ?? ''))?.job.data, { open: { 'customer.id': 'inside' } })
      assert.deepEqual(await ids('sealed', { 'customer.id': 'inside' }), [job.id])
    })

    it('refuses undeclared fields and queues, and lists the declared fields', async () => {
      assert.deepEqual(service.searchFields, search)
      await assert.rejects(service.find('orders', { customer: 'x' }, { limit: 1 }), {
        code: 'QUEUE_FIELD_UNKNOWN',
        message: /"customer": its searchable fields are customer\.id, tags, paid/,
      })
      await assert.rejects(service.find('nobody', { 'customer.id': 'x' }, { limit: 1 }), { message: /it has no searchable fields/ })
    })
  })

  describe(`the declared fields of an app on ${name}`, () => {
    it('can change between two starts, and the search reports since when jobs are indexed by them', async () => {
      const options = await makeOptions()
      const run = async <T>(search: Record<string, string[]>, work: (service: Queues) => Promise<T>): Promise<T> => {
        const host = await createTestHost({ ...options, plugins: [queues({ search })] })
        return work(host.service(queuesService)).finally(() => host.stop())
      }
      const add = (service: Queues, id: string) => service.add('orders', 'x', { customer: { id } })
      const old = await run({}, (service) => add(service, 'a'))
      const begun = Date.now()
      const next = await run({ orders: ['customer.id'] }, (service) => add(service, 'a'))
      await run({ orders: ['customer.id', 'tags'] }, async (service) => {
        const { jobs, since } = await service.find('orders', { 'customer.id': 'a' }, { limit: 9 })
        const all = since === undefined
        assert.deepEqual(
          jobs.map(({ job }) => job.id),
          all ? [next.id, old.id] : [next.id],
        )
        assert.ok(all || (since >= begun && since <= next.timestamp))
        const later = await service.find('orders', { tags: 'a' }, { limit: 9 })
        assert.ok(all || (later.since ?? 0) >= next.timestamp)
      })
      const unseen = await run({}, (service) => add(service, 'a'))
      await run({ orders: ['customer.id'] }, async (service) => {
        const { jobs, since } = await service.find('orders', { 'customer.id': 'a' }, { limit: 9 })
        assert.deepEqual([jobs.length, since === undefined || since >= unseen.timestamp], [since === undefined ? 3 : 0, true])
        await eventually('the new index works', async () => {
          await add(service, 'b')
          return (await service.find('orders', { 'customer.id': 'b' }, { limit: 1 })).jobs.length === 1
        })
      })
    })
  })
}
