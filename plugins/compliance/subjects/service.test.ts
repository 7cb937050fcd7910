import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { fakeClock, memoryLogger } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import type { AwaitedJob, Erasure, PendingJob } from '../store/erasures.js'
import type { FoundJobs } from './find.js'
import { Subjects, type SubjectsParts } from './service.js'

/** Two processes that share a store of erasures and a queue with one job, which runs until `queue.busy` is false. */
function twoProcesses(
  eraseElsewhere: () => number | Error = () => 0,
  firstTimes: SubjectsParts['times'] = {},
  lost: readonly string[] = [],
  manage = (work: (note: () => void) => Promise<unknown>): Promise<unknown> => work(() => undefined),
  hooks: object = {},
) {
  const stored = new Map<string, Erasure & { readonly digests: readonly string[] }>()
  const pending = new Map<string, AwaitedJob>()
  const clock = fakeClock()
  const queue = { busy: true, lost: false, unsettled: 0, searches: 0, afterwards: () => undefined }
  const purged: string[] = []
  const deadLetters: string[] = []
  const ended: Erasure[] = []
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const purge = (name: string, ids: readonly string[], unlocked = false) => {
    if (queue.busy && !(queue.lost && unlocked)) return { removed: [], running: ids }
    purged.push(...ids.map((id) => `${name}/${id}`))
    return { removed: ids, running: [] }
  }
  const parts = {
    enabled: true,
    declarations: { orders: ['user.id'] },
    digests: {
      of: (subject: string) => `digest of ${subject}`,
      allOf: async (subject: string) => ({ digests: [`digest of ${subject}`, `earlier digest of ${subject}`], lost }),
    },
    queues: {
      job: async () => undefined,
      deletedJob: async () => undefined,
      scrub: async () => undefined,
      unlocked: async (_queue: string, ids: readonly string[]) => (queue.lost ? ids : []),
    },
    stored: {
      purge: async (name: string, ids: readonly string[], _digests: unknown, { unlocked = false } = {}) => purge(name, ids, unlocked),
      names: async () => true,
    },
    copies: { keepUp: async () => undefined },
    jobs: {
      /** Finds the job, and ends when `release` is called or its process stops. */
      async *find(_subject: string, signal: AbortSignal): AsyncGenerator<FoundJobs, void, undefined> {
        yield { queue: 'orders', jobs: ['1'], schedules: [] }
        if (queue.searches++ < queue.unsettled) yield { queue: 'orders', jobs: [], schedules: [], unsettled: true }
        await Promise.race([released, new Promise((resolve) => signal.addEventListener('abort', resolve))])
      },
      async *deadLetters(wanted: readonly string[]): AsyncGenerator<FoundJobs, void, undefined> {
        // They have the digest that the job got when it was added.
        if (wanted.includes('earlier digest of ann')) yield { queue: 'orders-dead', jobs: [...deadLetters], schedules: [] }
      },
    },
    index: { isEmpty: async () => false, markErased: async () => 0, removeErased: async () => queue.afterwards() },
    erasures: {
      save: async (erasure: Erasure, digests: readonly string[]) => void stored.set(erasure.id, { ...erasure, digests }),
      get: async (id: string) => stored.get(id),
      abandoned: async () => [...stored.values()].filter(({ state }) => state === 'running' || state === 'waiting'),
      addPending: async (_id: string, jobs: readonly PendingJob[]) => jobs.forEach((one) => void pending.set(one.job, { ...one, at: 0 })),
      pending: async () => [...pending.values()],
      removePending: async (_id: string, _queue: string, jobs: readonly string[]) => jobs.forEach((job) => void pending.delete(job)),
    },
    hooks: {
      nameSubject: { call: async () => new Map() },
      exportSubject: { call: async () => new Map() },
      eraseSubject: { call: async () => new Map([['archive', eraseElsewhere()]]) },
      forgetSubject: { call: async () => new Map() },
      ...hooks,
    },
    scrubDatabase: async () => undefined,
    manage: (_action: unknown, work: (note: () => void) => Promise<unknown>) => manage(work),
    onEnded: (erasure: Erasure) => void ended.push(erasure),
    clock,
    log: memoryLogger(),
    times: { pendingMs: 1, deadLetterMs: 1, searchMs: 1, heartbeatMs: 1 },
  } as unknown as SubjectsParts
  const only = () => [...stored.values()][0]
  const first = new Subjects({ ...parts, times: { ...parts.times, ...firstTimes } })
  return { clock, deadLetters, ended, first, only, purged, queue, release, second: new Subjects(parts) }
}

// Erasures do not keep a process alive.
const alive = setInterval(() => undefined, 60_000)
after(() => clearInterval(alive))

describe('an erasure', () => {
  it('is updated during a long search, so that no other process considers it abandoned', async () => {
    const { clock, first, only, queue, release } = twoProcesses()
    queue.busy = false
    await first.erase('ann', undefined, 0)
    const before = only()?.updatedAt
    clock.advance(20_000)
    await eventually('the heartbeat', () => only()?.updatedAt !== before)
    assert.equal(only()?.state, 'running')
    release()
    await first.close()
  })

  it('whose process stops during the search fails, even if a job that it found still runs', async () => {
    const { ended, first, only, second } = twoProcesses()
    await first.erase('ann', undefined, 0)
    await first.close()
    assert.equal(only()?.state, 'running')
    await second.resume()
    assert.deepEqual([only()?.state, ended.length], ['failed', 1])
  })

  it('fails when a plugin did not erase its records, even if another process finishes it', async () => {
    const { ended, first, only, queue, release, second } = twoProcesses(() => new Error('read-only'))
    release()
    await first.erase('ann', undefined, 0)
    await eventually('it waits', () => only()?.state === 'waiting')
    await first.close()
    queue.busy = false
    await second.resume()
    await eventually('its end', () => ended.length > 0)
    assert.deepEqual([only()?.state, only()?.error], ['failed', 'the plugin archive did not erase its part: read-only'])
  })

  it('takes a job whose process has ended, without a worker, after it was lost for 30 s, and says so meanwhile', async () => {
    const { clock, ended, first, only, purged, queue, release } = twoProcesses()
    release()
    const erasing = await first.erase('ann', undefined, 0)
    await eventually('it waits', () => only()?.state === 'waiting')
    const looked = () => first.erasure(erasing.id)
    assert.match((await looked()).advice ?? '', /being erased$/)
    queue.lost = true
    assert.deepEqual(
      (await looked()).waitsFor.map(({ job, lost, queue: name }) => [name, job, lost]),
      [['orders', '1', true]],
    )
    assert.match((await looked()).advice ?? '', /^The process that ran the job 1 of the queue orders has ended.* with or without a worker$/)
    let passed = 0
    await eventually('its end', () => {
      if (ended.length > 0) return true
      clock.advance(500)
      passed += 500
      return false
    })
    assert.ok(passed >= 30_000, `${passed}`)
    assert.deepEqual([only()?.state, purged.includes('orders/1')], ['completed', true])
    await first.close()
  })

  it('whose process stops while it waits for dead letters also erases them when another process resumes it', async () => {
    const { deadLetters, ended, first, only, purged, queue, release, second } = twoProcesses(undefined, { deadLetterMs: 60_000 })
    release()
    await first.erase('ann', undefined, 0)
    await eventually('it waits', () => only()?.state === 'waiting')
    queue.busy = false
    await eventually('the job has ended', () => purged.includes('orders/1'))
    await setImmediate()
    await first.close()
    deadLetters.push('7')
    await second.resume()
    await eventually('its end', () => ended.length > 0)
    assert.deepEqual([only()?.state, only()?.pending, purged.includes('orders-dead/7')], ['completed', 0, true])
  })
})

it('an erasure goes on while a queue changes faster than it can be read, and fails if that does not end', async () => {
  for (const [unsettled, searches] of [
    [7, 8],
    [1_000, 30],
  ] as const) {
    const { first, only, queue, release } = twoProcesses()
    release()
    Object.assign(queue, { busy: false, unsettled })
    const erasing = first.erase('ann', undefined, 10_000)
    if (unsettled === 1_000) await assert.rejects(erasing, { code: 'ERASURE_FAILED', message: /faster than they could be read.*orders/ })
    else assert.equal((await erasing).state, 'completed')
    assert.deepEqual([queue.searches >= searches, only()?.state], [true, unsettled === 1_000 ? 'failed' : 'completed'])
    await first.close()
  }
})

it('an erasure that fails after it has removed jobs counts them', async () => {
  const { first, only, queue, release } = twoProcesses()
  release()
  const afterwards = (): never => {
    throw new Error('the database is gone')
  }
  Object.assign(queue, { busy: false, afterwards })
  const message = /the database is gone\. At least 1 jobs and schedules were erased before that/
  await assert.rejects(first.erase('ann', undefined, 10_000), { code: 'ERASURE_FAILED', message })
  assert.deepEqual([only()?.state, only()?.erased], ['failed', 1])
  await first.close()
})

it('an export of a queue that changes faster than it can be read says that it is not complete', async () => {
  const { first, queue, release } = twoProcesses()
  release()
  queue.unsettled = 1
  const { complete, problems } = JSON.parse(await text(await first.export('ann')))
  assert.deepEqual([complete, problems.length], [false, 1])
  assert.match(problems[0], /faster than they could be read.*orders/)
  await first.close()
})

it('an export and an erasure that cannot search the digests of a lost key say so', async () => {
  const { first, only, queue, release } = twoProcesses(undefined, undefined, ['0a1b'])
  release()
  const { complete, problems } = JSON.parse(await text(await first.export('ann')))
  assert.equal(complete, false)
  assert.match(problems[0], /earlier APP_KEY are not found.*0a1b/)
  queue.busy = false
  await assert.rejects(first.erase('ann', undefined, 10_000), { code: 'ERASURE_FAILED' })
  assert.match(only()?.error ?? '', /0a1b/)
  await first.close()
})

it('an export that a shutdown interrupts is not complete', async () => {
  const { first } = twoProcesses()
  const reading = text(await first.export('ann'))
  await setImmediate()
  await first.close()
  const { complete, problems } = JSON.parse(await reading)
  assert.deepEqual([complete, problems], [false, ['The app is stopping, so the search is incomplete; repeat the request']])
})

it('the action of an export ends when the export has been read, and fails when the reader leaves', async () => {
  const ends: string[] = []
  const { first, release } = twoProcesses(undefined, undefined, [], async (work) => {
    await work(() => undefined).then(
      () => ends.push('done'),
      (error: Error) => ends.push(error.message),
    )
  })
  release()
  assert.equal(JSON.parse(await text(await first.export('ann'))).complete, true)
  await setImmediate()
  assert.deepEqual(ends, ['done'])
  for (const begun of [true, false]) {
    const pieces = await first.export('ann')
    if (begun) await pieces.next()
    await pieces.return()
    await setImmediate()
    assert.match(ends.pop() ?? '', /stopped reading/)
  }
  await first.close()
})

describe('the names of a subject', () => {
  /** Two plugins: one has ids of accounts by their addresses, the other numbers of customers by ids. */
  const named = (failing: { readonly hook: string; readonly name: string } | undefined, more: readonly string[] = []) => {
    const names = new Map([
      ['ann@example.com', ['7']],
      ['7', ['customer 7', 'ann@example.com', ...more]],
    ])
    const fired: string[] = []
    const slot = (hook: string) => ({
      async call(name: string) {
        fired.push(`${hook} ${name}`)
        return new Map([['accounts', failing?.hook === hook && failing.name === name ? new Error('no') : 1]])
      },
    })
    const hooks = {
      nameSubject: {
        call: async (name: string) =>
          new Map([['accounts', failing?.hook === 'name' && failing.name === name ? new Error('no') : (names.get(name) ?? [])]]),
      },
      eraseSubject: slot('erase'),
      forgetSubject: slot('forget'),
    }
    const processes = twoProcesses(undefined, undefined, undefined, undefined, hooks)
    processes.release()
    processes.queue.busy = false
    return { ...processes, fired }
  }
  const all = ['customer 7', '7', 'ann@example.com']

  it('are asked for under each of them, and forgotten after all plugins have erased their part under all of them', async () => {
    const { first, fired } = named(undefined)
    assert.equal((await first.erase('ann@example.com', undefined, 10_000)).elsewhere, 6)
    assert.deepEqual(fired, [...all.map((name) => `erase ${name}`), ...all.map((name) => `forget ${name}`)])
    await first.close()
  })

  it('are kept while a plugin fails, so that a repeated erasure finds them', async () => {
    for (const [hook, name, forgotten] of [
      ['name', '7', []],
      ['erase', 'customer 7', []],
      ['erase', 'ann@example.com', []],
      ['forget', '7', ['forget customer 7', 'forget 7']],
    ] as const) {
      const { first, fired } = named({ hook, name })
      await assert.rejects(first.erase('ann@example.com', undefined, 10_000), {
        code: 'ERASURE_FAILED',
        message: /the plugin accounts did not/,
      })
      assert.deepEqual(
        fired.filter((one) => one.startsWith('forget')),
        forgotten,
        `${hook} ${name}`,
      )
      await first.close()
    }
  })

  it('are at most 20; if there are more, the erasure says so and fails', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `name ${index}`)
    const { first, fired } = named(undefined, names)
    await assert.rejects(first.erase('ann@example.com', undefined, 10_000), { message: /more than 20 names/ })
    assert.equal(fired.length, 20)
    await first.close()
  })
})
