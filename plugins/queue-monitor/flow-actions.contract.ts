import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { eventually } from '../../scripts/testing/eventually.js'
import { keys, type MonitoredApp } from './testing/app.js'
import { operatorOf } from './testing/operator.js'

const failsWith = { failParentOnFailure: true } as const
const hour = 3_600_000

/** Actions on flows, and on many jobs while a worker changes their lists; part of the operator contract, whose app it shares. */
export function flowActionsContract(app: () => MonitoredApp): void {
  const { post, counts, actions } = operatorOf(app)
  const fresh = (): string => `f${randomUUID().slice(0, 8)}`
  const stateOf = async (queue: string, id: string) => (await app().queues.job(queue, id))?.state
  /** Parent and child, without a worker. */
  const pair = async (parents: string, children = parents, child = {}) =>
    app().queues.addFlow({
      name: 'parent',
      queueName: parents,
      opts: { jobId: 'parent' },
      children: [{ name: 'child', queueName: children, opts: { jobId: 'child', ...failsWith, ...child } }],
    })
  const both = async (queue: string, other = queue) => [await stateOf(queue, 'parent'), await stateOf(other, 'child')]
  /** The count of a dry run, and what the run changed and skipped. */
  const dryAndRun = async (queue: string, action: string, body: object) => {
    const dry = (await post(`/api/queue/${queue}/${action}`, { ...body, dryRun: true })).body
    const { operation } = (await post(`/api/queue/${queue}/${action}?wait=30000`, body)).body
    return { dry: [dry.matching, dry.left], run: [operation.changed, operation.left], operation, message: dry.message }
  }

  describe('of flows', () => {
    it('retry the flow of any of its jobs in one operation, leaves first, after a dry run', async () => {
      for (const asked of ['root', 'leaf', 'good']) {
        const queue = fresh()
        const ran: string[] = []
        let bad = true
        const worker = app().queues.worker(queue, async (job) => {
          ran.push(job.name)
          if (job.name.startsWith('leaf') && bad) throw new Error(`no luck with ${job.name}`)
        })
        const child = (name: string, more = {}) => ({ name, queueName: queue, opts: { jobId: name, ...failsWith, ...more } })
        await app().queues.addFlow({
          name: 'root',
          queueName: queue,
          opts: { jobId: 'root' },
          children: [{ ...child('mid'), children: [child('leaf'), child('leaf2')] }, child('good')],
        })
        await eventually('it fails', async () => (await counts(queue)).failed === 4)
        bad = false
        const path = `/api/jobs/${queue}:${asked}/flow/retry`
        const dry = (await post(path, { dryRun: true })).body
        assert.deepEqual(
          [dry.dryRun, dry.matching, [...dry.jobs].sort()],
          [true, 4, ['leaf', 'leaf2', 'mid', 'root'].map((id) => `${queue}:${id}`)],
        )
        assert.deepEqual(dry.jobs.slice(2), [`${queue}:mid`, `${queue}:root`])
        assert.equal((await counts(queue)).failed, 4)
        ran.length = 0
        const { body, status } = await post(`${path}?wait=30000`)
        assert.deepEqual(
          [status, body.operation.action, body.operation.state, body.operation.changed, body.operation.flow],
          [200, 'flow.retry', 'completed', 4, `${queue}:root`],
        )
        assert.deepEqual((await app().call('GET', `/api/operations/${body.operation.id}`)).body.operation, body.operation)
        await eventually('it completes', async () => (await counts(queue)).completed === 5)
        assert.deepEqual(
          [ran.slice(0, 2).sort(), ran.slice(2)],
          [
            ['leaf', 'leaf2'],
            ['mid', 'root'],
          ],
        )
        const [last] = actions()
          .filter(({ action }) => action === 'flow.retry')
          .slice(-1)
        assert.deepEqual([last?.queue, last?.jobs], [queue, 4])
        assert.equal((await post(`${path}?wait=30000`)).body.operation.changed, 0)
        assert.equal((await post(path, { dryRun: 'yes' })).status, 400)
        assert.equal((await post(path, { all: true })).status, 400)
        await worker.close()
      }
      assert.equal((await post('/api/jobs/none/flow/retry')).status, 404)
    })

    it('retry a job with those that it needs, unless a key or a plugin does not allow one of them', async () => {
      const fail = async (parents: string, children: string) => {
        await pair(parents, children)
        await app().queues.fail(children, 'child', 'planted')
        const worker = app().queues.worker(parents, async () => undefined)
        await eventually('the parent fails', async () => (await stateOf(parents, 'parent')) === 'failed')
        await worker.close()
      }
      const queue = fresh()
      await fail(queue, queue)
      const { body } = await post(`/api/jobs/${queue}:parent/retry`)
      assert.deepEqual([body.outcome, body.related], ['retried', [`${queue}:child`]])
      assert.deepEqual(await both(queue), ['waiting-children', 'waiting'])
      const held = fresh()
      await fail(held, 'held')
      for (const path of [`/api/jobs/${held}:parent/retry`, `/api/jobs/${held}:parent/flow/retry`]) {
        assert.equal((await post(path)).body.code, 'JOB_ACTION_DENIED')
      }
      const many = (await post(`/api/queue/${held}/retry?wait=30000`)).body.operation
      assert.deepEqual([many.changed, many.left, await both(held, 'held')], [0, 1, ['failed', 'failed']])
      await app().queues.purge('held', ['child'])
      const gone = await post(`/api/jobs/${held}:parent/retry`)
      assert.deepEqual([gone.status, gone.body.code], [409, 'JOB_STATE_CONFLICT'])
      assert.match(gone.body.message, /held:child/)
      // Of many, it is counted among those that would be skipped, also through a job between them.
      await app().queues.addFlow({
        name: 'grandparent',
        queueName: held,
        opts: { jobId: 'grandparent' },
        children: [
          {
            name: 'between',
            queueName: held,
            opts: { jobId: 'between', failParentOnFailure: true },
            children: [{ name: 'lost', queueName: 'held', opts: { jobId: 'lost', ...failsWith } }],
          },
        ],
      })
      await app().queues.fail('held', 'lost', 'planted')
      const worker = app().queues.worker(held, async () => undefined)
      await eventually('the grandparent fails', async () => (await stateOf(held, 'grandparent')) === 'failed')
      await worker.close()
      await app().queues.purge('held', ['lost'])
      await app().queues.add(held, 'alone', {}, { jobId: 'alone' })
      await app().queues.fail(held, 'alone', 'planted, like no child')
      const counted = await dryAndRun(held, 'retry', {})
      assert.deepEqual(counted.dry, [1, 3])
      assert.equal(counted.message, '1 job matches. 3 more would be skipped: a child that they need no longer exists')
      assert.deepEqual(counted.run, counted.dry)
      const path = `/api/jobs/${held}:parent/flow/retry`
      const foreseen = (await post(path, { dryRun: true })).body
      const { operation } = (await post(`${path}?wait=30000`)).body
      assert.deepEqual(
        [foreseen.matching, foreseen.left, foreseen.jobs, foreseen.message],
        [
          operation.changed,
          operation.left,
          [],
          '0 jobs would be retried. 1 failed job would be skipped: a child that is needed no longer exists',
        ],
      )
      assert.deepEqual([operation.changed, operation.left], [0, 1])
      const id = randomUUID()
      await app().queues.addFlow({
        name: 'own',
        queueName: 'mails-a',
        opts: { jobId: id, delay: hour },
        children: [{ name: 'other', queueName: 'mails-b', opts: { jobId: id, ...failsWith } }],
      })
      assert.equal((await post(`/api/jobs/mails-a:${id}/flow/retry`, {}, keys.writeA)).status, 403)
      assert.equal((await post(`/api/jobs/mails-a:${id}/flow/retry`, {}, keys.readA)).status, 403)
      await app().queues.remove('mails-a', id)
    })

    it('act as many times as a dry run counts, on each state', async () => {
      const rows = [
        ['cancel', {}],
        ['cancel', { status: 'all' }],
        ['cancel', { status: 'waiting' }],
        ['cancel', { status: 'delayed' }],
        ['cancel', { status: 'waiting-children' }],
        ['purge', { status: 'waiting' }],
        ['purge', { status: 'waiting-children' }],
        ['purge', { status: 'delayed' }],
        ['purge?now=true', { status: 'waiting' }],
        ['purge?now=true', { status: 'delayed' }],
        ['purge?now=true', { status: 'all' }],
        ['purge', { status: 'all' }],
      ] as const
      for (const [action, body] of rows) {
        const queue = fresh()
        await pair(queue)
        await app().queues.addBulk(queue, [{ name: 'plain' }, { name: 'late', options: { delay: hour } }])
        await app().queues.schedule(queue, 'yearly', { pattern: '0 0 1 1 *' }, { name: 'scheduled' })
        const sent = 'status' in body && body.status === 'all' ? { ...body, confirm: action.startsWith('purge') ? queue : undefined } : body
        const [verb = '', now] = action.split('?')
        const url = (more: string) => `/api/queue/${queue}/${verb}?${[now, more].filter(Boolean).join('&')}`
        const dry = (await post(url(''), { ...sent, dryRun: true })).body
        const { operation } = (await post(url('wait=30000'), sent)).body
        const told = `${action} ${JSON.stringify(body)}`
        assert.deepEqual([operation.changed, operation.left], [dry.matching, dry.left], told)
        const parent = await stateOf(queue, 'parent')
        // Without its child it has failed, is about to, or is gone.
        if ((await stateOf(queue, 'child')) !== 'waiting') assert.ok(parent === undefined || parent === 'waiting', `${told}: ${parent}`)
        if (parent === 'waiting') {
          const worker = app().queues.worker(queue, async (job) => assert.notEqual(job.name, 'parent', told))
          await eventually('it fails', async () => (await stateOf(queue, 'parent')) === 'failed')
          await worker.close()
        }
      }
    })

    it('are all cancelled or deleted by `all`, in whichever queue they are', async () => {
      for (const [path, body] of [
        ['cancel?wait=30000', { status: 'all' }],
        ['purge?wait=30000&now=true', { status: 'all', confirm: '' }],
      ] as const) {
        const [queue, other] = [fresh(), fresh()]
        await pair(queue, other, { delay: hour })
        const { operation } = (await post(`/api/queue/${queue}/${path}`, 'confirm' in body ? { ...body, confirm: queue } : body)).body
        assert.deepEqual([operation.changed, operation.left, operation.related], [1, 0, 1], path)
        assert.deepEqual(await both(queue, other), [undefined, undefined])
      }
    })
  })

  describe('of many jobs', () => {
    it('abort all running jobs, although they leave the list', async () => {
      const queue = fresh()
      await app().queues.addBulk(
        queue,
        Array.from({ length: 230 }, () => ({ name: 'x' })),
      )
      const worker = app().queues.worker(
        queue,
        (_job, _token, signal) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
        { concurrency: 230 },
      )
      await eventually('all run', async () => (await counts(queue)).active === 230)
      const { dry, run } = await dryAndRun(queue, 'cancel', { status: 'active' })
      assert.deepEqual(
        [dry, run],
        [
          [230, 0],
          [230, 0],
        ],
      )
      await eventually('none runs', async () => (await counts(queue)).active === 0)
      assert.equal((await counts(queue)).failed, 230)
      await worker.close()
    })

    it('reach every matching job while workers take jobs from the list, whatever the action', async () => {
      const filter = { maxAttempts: 0 }
      for (const action of ['cancel', 'purge']) {
        const queue = fresh()
        await app().queues.addBulk(
          queue,
          Array.from({ length: 600 }, (_, n) => ({ name: n % 3 === 0 ? 'match' : 'other' })),
        )
        const before = Date.now()
        await eventually('time passes', () => Date.now() > before)
        const cut = new Date().toISOString()
        const worker = app().queues.worker(queue, async () => undefined, { concurrency: 3 })
        const added = app().queues.addBulk(
          queue,
          Array.from({ length: 50 }, () => ({ name: 'young' })),
        )
        const { operation } = (await post(`/api/queue/${queue}/${action}?wait=30000`, { ...filter, status: 'waiting', olderThan: cut }))
          .body
        await worker.pause()
        await added
        const left = await app().queues.list(queue, 'waiting', { limit: 1_000 })
        assert.deepEqual(left.filter(({ name }) => name !== 'young').length, 0, action)
        const { completed } = await counts(queue)
        assert.equal(completed + operation.changed + left.length, 650, `${action}: ${operation.changed} changed, ${completed} completed`)
        await worker.close()
      }
    })

    it('count what a cancel of waiting jobs did not reach as not changed', async () => {
      const queue = fresh()
      const worker = app().queues.worker(queue, async () => undefined, { concurrency: 5 })
      let changed = 0
      for (let round = 0; round < 3; round++) {
        await app().queues.addBulk(
          queue,
          Array.from({ length: 150 }, () => ({ name: 'x' })),
        )
        const { operation } = (await post(`/api/queue/${queue}/cancel?wait=30000`)).body
        changed += operation.changed
        assert.equal(operation.left, 0)
      }
      await eventually('all ended', async () => (await counts(queue)).waiting + (await counts(queue)).active === 0)
      assert.equal((await counts(queue)).completed + changed, 450)
      await worker.close()
    })

    it('are counted exactly before a purge, however many there are', async () => {
      const queue = fresh()
      const add = (name: string, count: number) =>
        app().queues.addBulk(
          queue,
          Array.from({ length: count }, () => ({ name, options: { delay: hour } })),
        )
      for (let n = 0; n < 11; n++) await add('x', 1_000)
      const dry = (await post(`/api/queue/${queue}/purge`, { status: 'delayed', dryRun: true })).body
      assert.deepEqual([dry.matching, dry.complete, dry.restorable, dry.final, dry.sample.length], [11_000, true, 11_000, 0, 10])
      assert.equal(dry.message, '11,000 jobs match. This can be undone for 10 minutes')
    })
  })
}
