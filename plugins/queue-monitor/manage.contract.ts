import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { deny } from 'zin'
import { eventually } from '../../scripts/testing/eventually.js'
import type { JobDetails } from './contract.js'
import { deletesContract } from './deletes.contract.js'
import { flowAccessContract } from './flow-access.contract.js'
import { flowActionsContract } from './flow-actions.contract.js'
import { keys, type MonitoredApp, monitoredApp } from './testing/app.js'
import { operatorOf } from './testing/operator.js'

/** Operator actions on jobs and queues, for each queue store. */
export function manageContract(title: string, env: () => Readonly<Record<string, string>>): void {
  describe(`operators of queues on ${title}`, () => {
    let app: MonitoredApp
    const { post, counts, actions, failed } = operatorOf(() => app)

    before(async () => {
      app = await monitoredApp(
        env(),
        {},
        {
          beforeJobRetry: (queue) => (queue === 'held' ? deny('on hold') : undefined),
          beforeManagementAction: async ({ action, target }) => {
            // Simulates a concurrent promotion.
            if (action === 'job.promote' && target === 'job:raced/late') await (await app.queues.job('raced', 'late'))?.job.promote()
            return action === 'jobs.undo' && target === 'queue:locked' ? deny('locked for the audit') : undefined
          },
        },
      )
    })
    after(() => app.host.stop())

    it('retry a failed job, and only a failed one', async () => {
      await failed('retries', 1)
      const [{ id }] = (await app.call('GET', '/api/jobs/failed?queue=retries')).body.jobs
      const retried = await post(`/api/jobs/retries:${id}/retry`)
      assert.deepEqual([retried.status, retried.body], [200, { ok: true, id, queue: 'retries', outcome: 'retried' }])
      assert.equal((await counts('retries')).waiting, 1)
      const again = await post(`/api/jobs/${id}/retry?queue=retries`)
      assert.deepEqual([again.status, again.body.code], [409, 'JOB_STATE_CONFLICT'])
      assert.deepEqual(actions().at(-1), {
        action: 'retry',
        queue: 'retries',
        jobId: id,
        jobs: 1,
        actor: { kind: 'local', id: 'local', via: 'http' },
      })
    })

    it('do not promote a job that was promoted concurrently', async () => {
      await app.queues.add('raced', 'x', {}, { jobId: 'late', delay: 3_600_000 })
      const raced = await post('/api/jobs/raced:late/promote')
      assert.deepEqual([raced.status, raced.body.code], [409, 'JOB_STATE_CONFLICT'])
      assert.equal((await counts('raced')).waiting, 1)
    })

    it('promote, cancel and delete single jobs', async () => {
      for (const jobId of ['late', 'gone', 'cut']) await app.queues.add('singles', 'x', {}, { jobId, delay: 3_600_000 })
      assert.equal((await post('/api/jobs/singles:late/promote')).body.outcome, 'promoted')
      assert.equal((await post('/api/jobs/singles:late/promote')).body.code, 'JOB_STATE_CONFLICT')
      assert.equal((await post('/api/jobs/singles:cut/cancel')).body.outcome, 'removed')
      assert.equal((await app.call('DELETE', '/api/jobs/gone?queue=singles')).body.outcome, 'deleted')
      const { delayed, waiting } = await counts('singles')
      assert.deepEqual([waiting, delayed], [1, 0])
      assert.equal((await app.call('DELETE', '/api/jobs/singles:gone')).status, 404)
      await failed('singles', 1)
      const [{ id }] = (await app.call('GET', '/api/jobs/failed?queue=singles')).body.jobs
      assert.equal((await post(`/api/jobs/singles:${id}/cancel`)).body.code, 'JOB_STATE_CONFLICT')
    })

    it('retry the failed jobs of a queue, and preview them in a dry run', async () => {
      await failed('many', 12)
      const dry = (await post('/api/queue/many/retry', { dryRun: true })).body
      assert.deepEqual([dry.matching, dry.complete, dry.sample.length, (await counts('many')).failed], [12, true, 10, 12])
      assert.ok(dry.sample.every(({ error, payload }: JobDetails) => error === 'planted' && payload === null))
      const none = (await post('/api/queue/many/retry', { olderThan: 3_600_000 })).body
      assert.deepEqual([none.operation.changed, none.message, (await counts('many')).failed], [0, 'No jobs matched', 12])
      const { body, status } = await post('/api/queue/many/retry?wait=30000', { maxAttempts: 1 })
      assert.deepEqual([status, body.operation.state, body.operation.changed, body.operation.total], [200, 'completed', 12, 12])
      assert.deepEqual([(await counts('many')).failed, (await counts('many')).waiting], [0, 12])
      const kept = (await app.call('GET', `/api/operations/${body.operation.id}`)).body.operation
      assert.deepEqual(kept, body.operation)
    })

    it('cancel and purge by filter', async () => {
      await app.queues.addBulk('wide', [
        ...Array.from({ length: 110 }, () => ({ name: 'w' })),
        ...Array.from({ length: 20 }, () => ({ name: 'd', options: { delay: 3_600_000 } })),
      ])
      await failed('wide', 110)
      assert.equal((await post('/api/queue/wide/cancel?wait=30000', { status: 'delayed' })).body.operation.changed, 20)
      assert.equal((await post('/api/queue/wide/cancel?wait=30000')).body.operation.changed, 110)
      assert.equal((await counts('wide')).failed, 110)
      const purged = await post('/api/queue/wide/purge?wait=30000', { status: 'failed', olderThan: new Date().toISOString() })
      assert.deepEqual([purged.body.operation.changed, (await counts('wide')).failed], [110, 0])
    })

    it('purge everything only with the queue name as confirmation', async () => {
      await app.queues.add('doomed', 'w', {})
      await failed('doomed', 2)
      for (const confirm of [undefined, 'wide', 'DOOMED']) {
        const refused = await post('/api/queue/doomed/purge', { status: 'all', confirm })
        assert.deepEqual([refused.status, refused.body.code], [400, 'CONFIRMATION_REQUIRED'])
      }
      assert.equal((await post('/api/queue/doomed/purge', { status: 'all', dryRun: true })).body.matching, 3)
      const { operation } = (await post('/api/queue/doomed/purge?wait=30000', { status: 'all', confirm: 'doomed' })).body
      assert.deepEqual([operation.state, operation.changed], ['completed', 3])
    })

    deletesContract(() => app)
    flowAccessContract(() => app)
    flowActionsContract(() => app)

    it('run at most four operations at a time, also when more are requested concurrently', async () => {
      await app.queues.addBulk(
        'crowded',
        Array.from({ length: 300 }, () => ({ name: 'x', options: { delay: 3_600_000 } })),
      )
      const cancel = () => post('/api/queue/crowded/cancel?wait=0', { status: 'delayed' })
      const responses = await Promise.all(Array.from({ length: 8 }, cancel))
      const refused = responses.filter(({ status }) => status === 429)
      assert.deepEqual([refused.length, refused[0]?.body.code], [4, 'TOO_MANY_OPERATIONS'])
      await eventually('the operations end', async () => {
        const started = responses.filter(({ status }) => status !== 429)
        const states = await Promise.all(started.map(({ body }) => app.call('GET', `/api/operations/${body.operation.id}`)))
        return states.every(({ body }) => body.operation.state === 'completed')
      })
      assert.equal((await counts('crowded')).delayed, 0)
    })

    it('pause and resume a queue, and add jobs to it', async () => {
      assert.deepEqual((await post('/api/queue/wide/pause')).body, { ok: true, queue: 'wide', paused: true })
      await eventually('the statistics say so', async () => (await app.call('GET', '/api/queue/wide/stats')).body.paused)
      assert.equal((await post('/api/queue/wide/resume')).body.paused, false)
      const added = await post('/api/queue/wide/jobs', { name: 'hand', data: { n: 1 }, options: { delay: 60_000 } })
      assert.equal(added.status, 201)
      assert.equal((await app.call('GET', `/api/jobs/wide:${added.body.id}?include=payload`)).body.payload.n, 1)
      const year = 365 * 86_400_000
      assert.equal((await post('/api/queue/wide/jobs', { name: 'late', options: { delay: year } })).status, 201)
      const options = [{ repeat: {} }, { delay: year + 1 }, { delay: 1e300 }, { attempts: 1001 }]
      for (const body of [{}, { name: '' }, { name: 'a\u0000b' }, ...options.map((some) => ({ name: 'x', options: some }))]) {
        assert.equal((await post('/api/queue/wide/jobs', body)).status, 400, JSON.stringify(body))
      }
    })

    it('add jobs with the priorities of workers, Normal by default', async () => {
      await app.queues.add('ranked', 'foreign', {}, { delay: 3_600_000 })
      const asked = [['Low'], ['Critical'], ['High'], [undefined], [7]] as const
      for (const [priority] of asked) {
        const options = priority === undefined ? {} : { priority }
        assert.equal((await post('/api/queue/ranked/jobs', { name: String(priority), options })).status, 201)
      }
      const { jobs } = (await app.call('GET', '/api/jobs/waiting?queue=ranked')).body
      assert.deepEqual(
        jobs.map(({ name, priority }: JobDetails) => [name, priority]),
        [
          ['Critical', 10],
          ['7', 7],
          ['High', 5],
          ['undefined', 1],
          ['Low', 0],
        ],
      )
      const [foreign] = (await app.call('GET', '/api/jobs/delayed?queue=ranked')).body.jobs
      assert.equal(foreign.priority, null)
      for (const priority of [11, -1, 'urgent', null]) {
        const { body, status } = await post('/api/queue/ranked/jobs', { name: 'x', options: { priority } })
        assert.deepEqual([status, body.code], [400, 'VALIDATION_FAILED'], String(priority))
      }
    })

    it('get errors for malformed requests', async () => {
      const bodies = [
        { status: 'gone' },
        { olderThan: 'soon' },
        { olderThan: -1 },
        { olderThan: '2999-01-01T00:00:00Z' },
        { maxAttempts: 'x' },
        { status: 'completed' },
        { everything: true },
      ]
      for (const body of bodies) assert.equal((await post('/api/queue/many/retry', body)).status, 400, JSON.stringify(body))
      assert.equal((await post('/api/queue/many/purge')).body.code, 'INVALID_JOB_FILTER')
      for (const verb of ['retry', 'cancel', 'purge', 'pause', 'resume', 'jobs']) {
        assert.equal((await post(`/api/queue/nobody/${verb}`, verb === 'jobs' ? { name: 'x' } : { status: 'failed' })).status, 404)
      }
      assert.equal((await app.call('GET', '/api/operations/none')).body.code, 'QUEUE_OPERATION_NOT_FOUND')
      assert.ok(!(await app.queues.names()).includes('nobody'))
    })

    it('can do what their key allows, only in its queues', async () => {
      // The worker of the queue may fail it at any time.
      await app.queues.add('mails-a', 'x', { bad: true })
      await eventually('the job fails', async () => (await counts('mails-a')).failed === 1)
      const [{ id }] = (await app.call('GET', '/api/jobs/failed?queue=mails-a')).body.jobs
      const rights = [
        [keys.readA, `/api/jobs/mails-a:${id}/retry`, 403],
        [keys.readAll, '/api/queue/many/pause', 403],
        [keys.writeA, '/api/queue/mails-a/purge', 403],
        [keys.writeA, '/api/queue/many/retry', 404],
        [keys.adminA, '/api/queue/many/purge', 404],
        [keys.adminA, '/api/queue/many/pause', 404],
        [keys.writeA, `/api/jobs/mails-a:${id}/retry`, 200],
      ] as const
      for (const [key, path, status] of rights) {
        assert.equal((await post(path, path.endsWith('purge') ? { status: 'failed' } : {}, key)).status, status, `${path} ${key}`)
      }
      const { operation: purged } = (await post('/api/queue/mails-a/purge?wait=30000', { status: 'completed' })).body
      assert.equal((await post(`/api/operations/${purged.id}/undo`, {}, keys.writeA)).status, 403)
      assert.equal((await post(`/api/operations/${purged.id}/undo`, {}, keys.adminA)).status, 200)
      const { operation } = (await post('/api/queue/many/cancel', {})).body
      assert.equal((await app.call('GET', `/api/operations/${operation.id}`, { key: keys.adminA })).status, 404)
    })

    it('cannot retry a job if a plugin denies it', async () => {
      const { id = '' } = await app.queues.add('held', 'x', {})
      await app.queues.fail('held', id, 'planted')
      const refused = await post(`/api/jobs/held:${id}/retry`)
      assert.deepEqual([refused.status, refused.body.code], [403, 'JOB_ACTION_DENIED'])
      assert.equal((await post('/api/queue/held/retry')).body.operation.changed, 0)
    })
  })
}
