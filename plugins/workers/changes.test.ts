import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { definePlugin, deny } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost, type TestHost } from 'zin/testing'
import { type WorkerChange, type Workers, workers, workersService } from './index.js'

/** A plugin that acts on its own. */
const scaler = definePlugin({ name: 'scaler', version: '1.0.0', uses: { workers: workersService }, setup: () => undefined })

describe('changes of workers', () => {
  let host: TestHost
  let service: Workers
  let gate: (change: WorkerChange) => ReturnType<typeof deny> | undefined | Promise<undefined>
  let told: WorkerChange[] = []
  let failed: [WorkerChange, Error][] = []
  let note: (change: WorkerChange) => unknown
  before(async () => {
    host = await createTestHost({
      plugins: [database(), kv(), cluster(), queues(), ops(), workers(), scaler()],
      hooks: {
        beforeWorkerChange: (change) => gate(change),
        onWorkerChange: (change) => {
          told.push(change)
          return note(change)
        },
        onWorkerChangeFailed: (change, error) => void failed.push([change, error]),
      },
    })
    service = host.service(workersService)
  })
  after(() => host.stop())

  const made = async (name: string) => {
    gate = () => undefined
    note = () => undefined
    await service.create({ name, queueName: name, processor: () => 1 })
    told = []
    failed = []
  }

  it('are published with the state before and after, the actor and the request', async () => {
    await made('told')
    await host.inject({ method: 'PUT', path: '/api/workers/told', headers: { 'x-requested-with': 'zin-cli' }, body: { concurrency: 9 } })
    await service.start('told')
    await service.as('scaler').scale('told', 20, { reason: 'many wait' })
    const [put, start, scale] = told
    assert.ok(put?.action === 'update' && start?.action === 'start' && scale?.action === 'scale')
    assert.deepEqual([put.before?.record.concurrency, put.after?.record.concurrency], [5, 9])
    assert.deepEqual(put.actor, { kind: 'local', id: 'local', via: 'cli' })
    assert.match(put.requestId ?? '', /./)
    assert.deepEqual([start.before?.desired.state, start.after?.desired.state, start.requestId], ['stopped', 'running', undefined])
    assert.deepEqual(start.actor, { kind: 'plugin', id: 'app', via: 'plugin' })
    assert.deepEqual(scale.actor, { kind: 'plugin', id: 'scaler', via: 'plugin' })
    assert.deepEqual([scale.after?.record.scaled?.reason, scale.after?.generation], ['many wait', (scale.before?.generation ?? 0) + 1])
  })

  it('that were denied or failed are published with their error and the same id', async () => {
    await made('failing')
    await assert.rejects(service.create({ name: 'failing', queueName: 'failing' }), { code: 'WORKER_EXISTS' })
    assert.equal(failed.length, 0)
    const asked: number[] = []
    const late = { name: 'late', queueName: 'late', processor: () => 1 }
    gate = ({ id, action }) => {
      asked.push(id)
      if (action === 'stop') return deny('not now')
      // Another caller makes the change while the gate of the first one runs.
      return action === 'create' && asked.length === 1 ? service.create(late).then(() => undefined) : undefined
    }
    await assert.rejects(service.create(late), { code: 'WORKER_EXISTS' })
    await service.start('failing')
    await assert.rejects(service.stop('failing'), { code: 'WORKER_CHANGE_DENIED' })
    assert.deepEqual(
      failed.map(([{ action, id }, error]) => [action, id, (error as Error & { code: string }).code]),
      [
        ['create', asked[0], 'WORKER_EXISTS'],
        ['stop', asked[3], 'WORKER_CHANGE_DENIED'],
      ],
    )
    assert.deepEqual(
      told.map(({ action, id }) => [action, id]),
      [
        ['create', asked[1]],
        ['start', asked[2]],
      ],
    )
    assert.equal(new Set(asked).size, 4)
  })

  it('that refuse a version have its evidence as it is stored', async () => {
    await made('judged')
    await service.registerVersion('judged', { version: '2.0.0', processor: () => 2 })
    const evidence = { failed: 40, compare: () => 1, since: new Date(0) }
    const stored = { failed: 40, since: '1970-01-01T00:00:00.000Z' }
    const { refused } = await service.refuseVersion('judged', '2.0.0', { reason: 'too many jobs failed', evidence })
    const change = told.find(({ action }) => action === 'version.refuse')
    assert.ok(change?.action === 'version.refuse')
    assert.deepEqual([refused?.evidence, change.after?.versions[1]?.refused?.evidence], [stored, stored])
    const notAnObject = { reason: 'x', evidence: new Date() as never }
    await assert.rejects(service.refuseVersion('judged', '2.0.0', notAnObject), { code: 'INVALID_REFUSAL' })
  })

  it('that a plugin makes in a listener have the plugin as actor, not the request', async () => {
    await made('heard')
    await service.create({ name: 'follows', queueName: 'follows', processor: () => 1 })
    let done: (result: unknown) => void = () => undefined
    const followed = new Promise((resolve) => (done = resolve))
    const end = service.events(({ type, worker }) => {
      if (type !== 'changed' || worker !== 'heard') return
      end()
      done(service.update('follows', { concurrency: 3 }))
    })
    await host.inject({ method: 'PUT', path: '/api/workers/heard', headers: { 'x-requested-with': 'test' }, body: { concurrency: 9 } })
    await followed
    const byName = Object.fromEntries(told.map((change) => [change.worker, [change.actor.kind, change.requestId !== undefined]]))
    assert.deepEqual(
      [byName.heard, byName.follows],
      [
        ['local', true],
        ['plugin', false],
      ],
    )
  })

  it('of jobs and schedules are published without their data', async () => {
    await made('busy')
    const { id } = await service.enqueue('busy', { secret: 'canary-1' }, { delay: 60_000 })
    await service.cancelJob('busy', id)
    await service.enqueueFlow({ worker: 'busy', data: 'canary-2', children: [{ worker: 'busy', data: 'canary-3' }] })
    await service.schedule('busy', 'yearly', { pattern: '0 0 1 1 *', data: 'canary-4' })
    await service.schedule('busy', 'yearly', { pattern: '0 0 2 1 *' })
    await service.unschedule('busy', 'yearly')
    const short = told.map(({ action, target, before, after }) => [action, target, before, after])
    const [flow] = told.filter(({ action }) => action === 'flow.add')
    const yearly = (day: number) => ({
      id: 'yearly',
      pattern: `0 0 ${day} 1 *`,
      tz: 'UTC',
      overlap: 'allow',
      catchUp: 'one',
    })
    assert.deepEqual(short, [
      ['job.add', undefined, null, { id, queue: 'busy', options: { delay: 60_000 } }],
      ['job.cancel', id, { id, queue: 'busy' }, { id, queue: 'busy', outcome: 'removed' }],
      ['flow.add', undefined, null, flow?.after],
      ['schedule.put', 'yearly', null, yearly(1)],
      ['schedule.put', 'yearly', yearly(1), yearly(2)],
      ['schedule.remove', 'yearly', yearly(2), null],
    ])
    assert.doesNotMatch(JSON.stringify(told), /canary/)
  })

  it('are not made when a plugin denies them or its gate fails', async () => {
    await made('held')
    gate = () => deny('not on Sundays')
    const refusal = { code: 'WORKER_CHANGE_DENIED', status: 409, message: /"\w+(\.\w+)?" .*"held".*not on Sundays/ }
    for (const attempt of [
      () => service.update('held', { concurrency: 2 }),
      () => service.start('held'),
      () => service.scale('held', 3),
      () => service.registerVersion('held', { version: '2.0.0' }),
      () => service.enqueue('held', 1),
      () => service.schedule('held', 'yearly', { pattern: '0 0 1 1 *' }),
      () => service.remove('held'),
    ]) {
      await assert.rejects(attempt(), refusal)
    }
    gate = () => {
      throw new Error('the policy cannot be read')
    }
    await assert.rejects(service.stop('held'), { code: 'WORKER_CHANGE_DENIED', message: /policy cannot be read/ })
    const { generation, concurrency } = await service.get('held')
    const { counts } = await service.metrics('held')
    assert.deepEqual([generation, concurrency, counts.waiting, (await service.schedules('held')).length, told], [1, 5, 0, 0, []])
    gate = () => undefined
  })

  it('cannot be modified by listeners', async () => {
    await made('copied')
    gate = (change) => {
      if (change.action === 'update' && change.after !== null) Object.assign(change.after.record, { concurrency: 999 })
      return undefined
    }
    assert.equal((await service.update('copied', { concurrency: 2 })).worker.concurrency, 2)
    gate = () => undefined
  })

  it('are published even when they cannot be applied, and their callers wait for the listeners', async () => {
    await made('halts')
    await service.start('halts')
    await service.registerVersion('halts', { version: '2.0.0', processor: () => 2, healthCheck: () => ({ healthy: false, error: 'no' }) })
    told = []
    let noted = false
    note = async () => {
      await new Promise(setImmediate)
      noted = true
    }
    await assert.rejects(service.activate('halts', '2.0.0'), { code: 'VERSION_UNHEALTHY' })
    assert.deepEqual([noted, told.map(({ action, target }) => [action, target])], [true, [['version.activate', '2.0.0']]])
  })

  it('are made when a listener fails, and the failure is logged', async () => {
    await made('logged')
    note = () => Promise.reject(new Error('the audit log is full'))
    assert.equal((await service.update('logged', { concurrency: 3 })).worker.concurrency, 3)
    assert.ok(host.logs.some(({ level, msg }) => level === 'error' && /"update" of worker "logged"/.test(String(msg))))
  })
})
