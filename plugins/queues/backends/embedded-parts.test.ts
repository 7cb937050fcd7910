import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createTestHost, type TestHost } from 'zin/testing'
import { type Queues, queues as queuesPlugin, queuesService } from '../index.js'

describe('a job that is rewritten in the embedded store', () => {
  let host: TestHost
  let queues: Queues
  let turn: string | undefined
  const same = (line: string): string | Promise<string> => line
  let rewriteLine = same
  let number = 0

  before(async () => {
    host = await createTestHost({
      plugins: [queuesPlugin()],
      env: { QUEUE_FSYNC: 'off' },
      hooks: {
        transformJobData: (data) => (turn === undefined ? undefined : { ...(data as object), turn }),
        transformJobText: (text) => rewriteLine(text),
      },
    })
    queues = host.service(queuesService)
  })
  after(() => host.stop())

  const addLogged = async (queue: string, lines: readonly string[], jobId?: string): Promise<string> => {
    turn = undefined
    rewriteLine = same
    const { id = '' } = await queues.add(queue, 'x', { n: 1 }, { delay: 3_600_000, ...(jobId !== undefined && { jobId }) })
    const job = await queues.queue(queue).getJob(id)
    for (const line of lines) await job?.log(line)
    turn = 'again'
    return id
  }
  const stored = async (queue: string, id: string) => {
    const { logs } = await queues.queue(queue).getJobLogs(id)
    return { data: (await queues.job(queue, id))?.job.data, logs }
  }
  const restore = async (queue: string, batch: string): Promise<void> => {
    for await (const { restored } of queues.restoreJobs(queue, batch)) assert.equal(restored, 1)
  }

  it('has all of its new parts, with equal lines in their places and lines added meanwhile unchanged', async () => {
    const queue = `parts${++number}`
    const id = await addLogged(queue, ['same', 'same', 'other'])
    rewriteLine = async (line) => {
      if (line === 'other') await (await queues.queue(queue).getJob(id))?.log('late')
      return line === 'late' ? line : `${line}!`
    }
    assert.equal(await queues.rewrite(queue, id), 'rewritten')
    assert.deepEqual(await stored(queue, id), { data: { n: 1, turn: 'again' }, logs: ['same!', 'same!', 'other!', 'late'] })
    const batch = `batch${number}`
    assert.equal(await queues.deleteJob(queue, id, { batch, ms: 3_600_000 }), 'restorable')
    rewriteLine = (line) => `${line}?`
    turn = 'last'
    assert.equal(await queues.rewrite(queue, id, { kind: 'deleted' }), 'rewritten')
    await restore(queue, batch)
    assert.deepEqual(await stored(queue, id), { data: { n: 1, turn: 'last' }, logs: ['same!?', 'same!?', 'other!?', 'late?'] })
  })

  it('keeps all of its old parts if one of the new ones cannot be stored', async () => {
    const queue = `parts${++number}`
    const id = await addLogged(queue, ['one', 'two'])
    const old = { data: { n: 1 }, logs: ['one', 'two'] }
    // The store cannot hold a zero character.
    rewriteLine = (line) => (line === 'two' ? 'two\0' : `${line}!`)
    await assert.rejects(queues.rewrite(queue, id))
    assert.deepEqual(await stored(queue, id), old)
    const batch = `batch${number}`
    assert.equal(await queues.deleteJob(queue, id, { batch, ms: 3_600_000 }), 'restorable')
    await assert.rejects(queues.rewrite(queue, id, { kind: 'deleted' }))
    await restore(queue, batch)
    assert.deepEqual(await stored(queue, id), old)
  })

  it('keeps all of its old parts if a line was removed meanwhile', async () => {
    const queue = `parts${++number}`
    const id = await addLogged(queue, ['one', 'two'])
    rewriteLine = async (line) => {
      if (line === 'two') await (await queues.queue(queue).getJob(id))?.clearLogs(1)
      return `${line}!`
    }
    assert.equal(await queues.rewrite(queue, id), 'busy')
    assert.deepEqual(await stored(queue, id), { data: { n: 1 }, logs: ['two'] })
  })

  it('never gets the lines of another deleted job that had its id', async () => {
    const queue = `parts${++number}`
    const batches = ['first', 'second'].map((name) => `${name}${number}`)
    for (const batch of batches) {
      await addLogged(queue, [batch], 'again')
      assert.equal(await queues.deleteJob(queue, 'again', { batch, ms: 3_600_000 }), 'restorable')
    }
    rewriteLine = (line) => `${line}!`
    assert.equal(await queues.rewrite(queue, 'again', { kind: 'deleted' }), 'rewritten')
    // The second job has replaced the first, as on Redis.
    const [first = '', second = ''] = batches
    await restore(queue, first)
    assert.equal(await queues.job(queue, 'again'), undefined)
    await restore(queue, second)
    assert.deepEqual((await stored(queue, 'again')).logs, [`${second}!`])
  })
})
