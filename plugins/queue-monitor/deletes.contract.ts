import assert from 'node:assert/strict'
import { it } from 'node:test'
import { keys, type MonitoredApp } from './testing/app.js'
import { operatorOf } from './testing/operator.js'

/** Deletes by operators, and their undo; part of the operator contract, whose app it shares. */
export function deletesContract(app: () => MonitoredApp): void {
  const { post, counts, actions, failed } = operatorOf(app)

  it('undo the delete of a job, but not with now=true', async () => {
    const data = { to: 'ann' }
    await app().queues.add('undone', 'x', data, { jobId: 'late', delay: 3_600_000, attempts: 4 })
    await app().queues.add('undone', 'x', data, { jobId: 'again' })
    await app().queues.fail('undone', 'again', 'planted')
    const shown = async () =>
      Promise.all(['late', 'again'].map(async (id) => (await app().call('GET', `/api/jobs/undone:${id}?include=payload`)).body))
    const before = await shown()
    const operations: string[] = []
    for (const id of ['late', 'again']) {
      const { body } = await app().call('DELETE', `/api/jobs/undone:${id}`)
      assert.deepEqual([body.ok, body.outcome, body.undo.jobs, body.undo.final], [true, 'deleted', 1, 0])
      assert.equal(body.undo.request, `POST /api/operations/${body.operation}/undo`)
      assert.ok(Math.abs(Date.parse(body.undo.until) - Date.now() - 600_000) < 60_000)
      operations.push(body.operation)
    }
    assert.equal((await app().call('GET', '/api/jobs/undone:late')).status, 404)
    for (const id of operations) {
      const { body, status } = await post(`/api/operations/${id}/undo?wait=30000`)
      assert.deepEqual([status, body.operation.action, body.operation.state, body.operation.changed], [200, 'undo', 'completed', 1])
    }
    assert.deepEqual(await shown(), before)
    assert.deepEqual([actions().at(-1)?.action, actions().at(-1)?.queue, actions().at(-1)?.jobs], ['undo', 'undone', 1])
    assert.equal((await post(`/api/operations/${operations[0]}/undo`)).body.message, 'No jobs could be restored')
    const gone = (await app().call('DELETE', '/api/jobs/undone:late?now=true')).body
    assert.deepEqual([gone.outcome, gone.operation, gone.undo], ['deleted', null, null])
    assert.equal((await app().call('DELETE', '/api/jobs/undone:again?now=maybe')).status, 400)
  })

  it('cannot permanently delete a job with children with a key of one queue, because children may be in other queues', async () => {
    const flow = { name: 'parent', queueName: 'mails-a', children: [{ name: 'child', queueName: 'mails-b' }] }
    const { job } = await app().queues.addFlow(flow)
    const children = [{ name: 'own', queueName: 'mails-a', opts: { jobId: 'own', delay: 3_600_000 } }]
    await app().queues.addFlow({ name: 'parent', queueName: 'mails-b', children })
    const before = (await counts('mails-b')).waiting
    const one = await app().call('DELETE', `/api/jobs/mails-a:${job.id}?now=true`, { key: keys.adminA })
    assert.deepEqual([one.status, one.body.code], [403, 'MONITOR_FORBIDDEN'])
    const all = { status: 'delayed' }
    const { body } = await post('/api/queue/mails-a/purge?wait=30000&now=true', all, keys.adminA)
    assert.match(body.message, /were skipped: .*your credentials do not allow it$/)
    assert.deepEqual([body.operation.state, body.operation.changed, body.operation.left], ['completed', 0, 1])
    assert.deepEqual([(await counts('mails-b')).waiting, (await counts('mails-a')).delayed], [before, 1])
    assert.equal((await app().call('DELETE', `/api/jobs/mails-a:own?now=true`, { key: keys.adminA })).status, 403)
    assert.equal((await app().call('DELETE', `/api/jobs/mails-a:own?now=true`)).status, 200)
    assert.equal((await app().call('DELETE', `/api/jobs/mails-a:${job.id}?now=true`)).status, 200)
  })

  it('undo a purge, which skips jobs of flows unless now=true', async () => {
    await app().queues.addBulk('purged', [
      { name: 'a', options: { priority: 9 } },
      { name: 'b' },
      { name: 'c' },
      { name: 'd', options: { delay: 3_600_000 } },
    ])
    await app().queues.addFlow({ name: 'parent', queueName: 'purged', children: [{ name: 'child', queueName: 'purged' }] })
    await failed('purged', 3)
    const names = async () =>
      (
        await Promise.all(
          (['waiting', 'delayed', 'failed'] as const).map((state) => app().queues.list('purged', state, { offset: 0, limit: 9 })),
        )
      ).map((jobs) => jobs.map(({ name }) => name))
    const before = await names()
    const all = { status: 'all', confirm: 'purged' }
    const dry = (await post('/api/queue/purged/purge', { ...all, dryRun: true })).body
    const skipped = '2 more would be skipped: a flow or schedule depends on them'
    assert.deepEqual([dry.matching, dry.left, dry.restorable, dry.final], [7, 2, 7, 0])
    assert.equal(dry.message, `7 jobs match. This can be undone for 10 minutes. ${skipped}`)
    const { body } = await post('/api/queue/purged/purge?wait=30000', all)
    const { operation } = body
    assert.deepEqual([operation.changed, operation.left, operation.undo.jobs, operation.undo.final], [7, 2, 7, 0])
    assert.match(body.message, /^7 jobs can be restored until .*: POST .*\/undo\. 2 were skipped: a flow or schedule depends on them/)
    assert.equal((await post('/api/queue/purged/retry?wait=0', { dryRun: true })).body.final, undefined)
    await app().queues.add('purged', 'new', {})
    const undone = (await post(`/api/operations/${operation.id}/undo?wait=30000`)).body.operation
    assert.deepEqual([undone.action, undone.changed, undone.total, undone.undo], ['undo', 7, 7, null])
    const restored = await names()
    assert.deepEqual(
      [restored[0]?.filter((name) => name !== 'new').sort(), restored.slice(1)],
      [[...(before[0] ?? [])].sort(), before.slice(1)],
    )
    const final = (await post('/api/queue/purged/purge?wait=30000&now=true', all)).body.operation
    assert.deepEqual([final.undo, final.left], [null, 0])
    assert.deepEqual(await names(), [[], [], []])
    for (const id of [final.id, undone.id]) {
      const refused = await post(`/api/operations/${id}/undo`)
      assert.deepEqual([refused.status, refused.body.code], [409, 'UNDO_NOT_POSSIBLE'])
    }
    assert.equal((await post('/api/operations/none/undo')).body.code, 'QUEUE_OPERATION_NOT_FOUND')
    const child = await app().queues.addFlow({
      name: 'p',
      queueName: 'purged',
      children: [{ name: 'c', queueName: 'purged', opts: { jobId: 'c1' } }],
    })
    const tied = await app().call('DELETE', '/api/jobs/purged:c1')
    assert.deepEqual([tied.status, tied.body.code], [409, 'JOB_STATE_CONFLICT'])
    assert.match(tied.body.message, /now=true/)
    assert.equal((await app().call('DELETE', `/api/jobs/purged:${child.job.id}?now=true`)).body.outcome, 'deleted')
  })

  it('see how many jobs an undo skipped because their ids are taken, and can repeat it', async () => {
    const jobs = [{ jobId: 'taken' }, { jobId: 'free' }].map((options) => ({ name: 'x', options }))
    await app().queues.addBulk('left', jobs)
    const { operation } = (await post('/api/queue/left/purge?wait=30000', { status: 'waiting' })).body
    await app().queues.add('left', 'other', {}, { jobId: 'taken', delay: 3_600_000 })
    const first = (await post(`/api/operations/${operation.id}/undo?wait=30000`)).body
    assert.deepEqual([first.operation.changed, first.operation.left], [1, 1])
    assert.match(first.message, /^1 were not restored: their ids or deduplication ids are used by other jobs/)
    assert.equal((await app().call('DELETE', '/api/jobs/left:taken?now=true')).body.outcome, 'deleted')
    const second = (await post(`/api/operations/${operation.id}/undo?wait=30000`)).body.operation
    assert.deepEqual([second.changed, second.left], [1, 0])
  })

  it('see how many jobs are permanently deleted because of the limit of the queue', async () => {
    const data = { large: 'x'.repeat(900_000) }
    for (let n = 0; n < 75; n++) await app().queues.add('large', 'x', data)
    const dry = (await post('/api/queue/large/purge', { status: 'waiting', dryRun: true })).body
    assert.ok(dry.final > 0 && dry.final < 75, dry.message)
    assert.match(
      dry.message,
      new RegExp(`^75 jobs match\\. ${dry.restorable} of them can be restored .*, ${dry.final} will be permanently deleted`),
    )
    const { body } = await post('/api/queue/large/purge?wait=30000', { status: 'waiting' })
    const { final, jobs } = body.operation.undo
    assert.deepEqual([body.operation.changed, jobs, final], [75, dry.restorable, dry.final])
    assert.match(body.message, new RegExp(`${final} were permanently deleted: a queue keeps at most 20000 jobs and 64 MiB`))
    const { id } = await app().queues.add('large', 'x', data)
    const single = (await app().call('DELETE', `/api/jobs/large:${id}`)).body
    assert.deepEqual([single.outcome, single.operation, single.undo], ['deleted', null, null])
    assert.match(single.message, /^It was permanently deleted/)
    const undone = (await post(`/api/operations/${body.operation.id}/undo?wait=30000`)).body
    assert.deepEqual(
      [undone.operation.changed, undone.operation.left, undone.operation.lost, undone.operation.total],
      [jobs, final, final, 75],
    )
    assert.match(undone.message, new RegExp(`^${final} were not restored: they had been deleted permanently`))
  })

  it('cannot undo if a plugin denies it, or with a read-only key', async () => {
    await app().queues.add('locked', 'x', {}, { jobId: 'one' })
    const locked = (await app().call('DELETE', '/api/jobs/locked:one')).body
    const refused = await post(`/api/operations/${locked.operation}/undo`)
    assert.ok(refused.status >= 400)
    assert.match(refused.body.message, /locked for the audit/)
    assert.equal((await app().call('GET', '/api/jobs/locked:one')).status, 404)
    await app().queues.add('mails-a', 'x', {}, { jobId: 'read', delay: 3_600_000 })
    const own = (await app().call('DELETE', '/api/jobs/mails-a:read')).body
    const path = `/api/operations/${own.operation}/undo?wait=30000`
    assert.equal((await post(path, {}, keys.readA)).body.code, 'MONITOR_FORBIDDEN')
    assert.equal((await post(path, {}, keys.writeA)).body.operation.changed, 1)
  })
}
