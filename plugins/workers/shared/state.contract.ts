import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { systemClock } from 'zin'
import { nodeStatus } from '../testing/helpers.js'
import { type AttemptDelta, mostChanges, type StateStore } from './contract.js'
import { durationBounds } from './durations.js'

export interface TestedState {
  /** Opens a store object, as in another process; memory has only one. */
  open(): Promise<StateStore>
  close(): Promise<void>
}

const none = { lost: 0, timedOut: 0, cancelled: 0 }
const unique = (name: string): string => `${name}-${randomUUID().slice(0, 8)}`
const attempts = (worker: string, version: string, changes: Partial<AttemptDelta> = {}): AttemptDelta => ({
  worker,
  version,
  completed: 2,
  failed: 1,
  lost: 0,
  timedOut: 0,
  cancelled: 0,
  totalMs: 1.5,
  durations: { 3: 1, 12: 2 },
  ...changes,
})

/** Counts all deltas as nodes do: a store may take only some at a time. */
async function countAll(store: StateStore, deltas: readonly AttemptDelta[]): Promise<void> {
  for (let counted = 0; counted < deltas.length; ) {
    const more = await store.count(deltas.slice(counted))
    assert.ok(more > 0)
    counted += more
  }
}

/** Tests for every state store, with two store objects as in two processes. */
export function stateContract(title: string, makeStore: () => Promise<TestedState>): void {
  describe(`the state store ${title}`, { timeout: 120_000 }, () => {
    let tested: TestedState
    let one: StateStore
    let two: StateStore
    before(async () => {
      tested = await makeStore()
      one = await tested.open()
      two = await tested.open()
    })
    after(() => tested.close())

    it('keeps statuses of all nodes, by worker', async () => {
      const [a, b] = [unique('a'), unique('b')]
      const [emails, Emails, reports] = [unique('emails'), unique('Emails'), unique('reports')]
      const failed = nodeStatus(reports, {
        state: 'FAILED',
        version: null,
        error: { code: 'X', message: "it's ünï🎈", status: 422 },
        check: { healthy: false, failures: 2, durationMs: 3, error: 'down', details: { a: [1] }, at: 1 },
      })
      await one.report(a, [nodeStatus(emails), failed, nodeStatus(Emails, { state: 'stopped' })])
      await two.report(b, [nodeStatus(emails, { state: 'paused' })])
      await one.report(a, [])
      const found = await two.statuses([emails, reports, Emails, 'nobody', emails])
      assert.deepEqual(
        found.map(({ node, worker, state }) => [node, worker, state]).sort(),
        [
          [a, emails, 'running'],
          [a, reports, 'FAILED'],
          [a, Emails, 'stopped'],
          [b, emails, 'paused'],
        ].sort(),
      )
      assert.deepEqual(
        found.find(({ worker }) => worker === reports),
        { ...failed, node: a },
      )
      const running = await two.running([a, b])
      assert.deepEqual([running.has(emails), running.has(reports), running.has(Emails)], [true, false, false])
      assert.deepEqual([(await two.running([b])).has(emails), (await two.running([])).size], [false, 0])
      await one.report(a, [nodeStatus(emails, { state: 'stopped' })])
      assert.equal((await two.running([a])).has(emails), false)
      await one.forget(a, reports, 'another of that name')
      assert.equal((await two.statuses([reports])).length, 1)
      await one.forget(a, reports, failed.workerId)
      assert.equal((await two.statuses([reports])).length, 0)
      assert.equal((await two.statuses([])).length, 0)
      await one.forgetNode(a)
      assert.deepEqual(
        (await two.statuses([emails, Emails])).map(({ node }) => node),
        [b],
      )
      await two.forgetNode(b)
    })

    it('sweeps the statuses of unknown nodes', async () => {
      const [gone, here] = [unique('gone'), unique('here')]
      const worker = unique('swept')
      await one.report(gone, [nodeStatus(worker)])
      await one.report(here, [nodeStatus(worker)])
      await two.sweep([here])
      assert.deepEqual(
        (await two.statuses([worker])).map(({ node }) => node),
        [here],
      )
      assert.equal((await two.running([gone])).has(worker), false)
      await one.forgetNode(here)
    })

    it('lists the changes since a revision, each worker once, or all workers for an unknown revision', async () => {
      const node = unique('asks')
      const [first, second] = [unique('first'), unique('second')]
      const { revision, changed } = await two.news(node, -1)
      assert.equal(changed, 'all')
      assert.deepEqual(await two.news(node, revision), { revision, changed: new Map(), reported: false })
      const given = [await one.change(first), await two.change(second), await one.change(first)]
      assert.deepEqual(given, [revision + 1, revision + 2, revision + 3])
      const news = await two.news(node, revision)
      assert.deepEqual(
        [news.revision, [...(news.changed as ReadonlyMap<string, number>)].sort()],
        [
          revision + 3,
          [
            [first, revision + 3],
            [second, revision + 2],
          ].sort(),
        ],
      )
      assert.deepEqual((await two.news(node, revision + 2)).changed, new Map([[first, revision + 3]]))
      // As after the store was reset or replaced.
      assert.equal((await two.news(node, revision + 4)).changed, 'all')
    })

    it('gives every change a unique revision, even when many are concurrent', async () => {
      const { revision } = await one.news('asks', -1)
      const given = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? one : two).change(unique('many'))))
      assert.deepEqual(
        given.sort((a, b) => a - b),
        Array.from({ length: 20 }, (_, n) => revision + 1 + n),
      )
      assert.equal(((await two.news('asks', revision)).changed as ReadonlyMap<string, number>).size, 20)
    })

    it(`requests reading all workers when ${mostChanges} or more changed`, async () => {
      const { revision } = await one.news('asks', -1)
      // In turns: a store with a single connection lets none wait longer than its deadline.
      for (let n = 0; n < mostChanges; n += 20) {
        await Promise.all(Array.from({ length: 20 }, (_, more) => one.change(`bulk-${n + more}`)))
      }
      assert.equal((await two.news('asks', revision)).changed, 'all')
    })

    it('returns whether it has statuses of a node', async () => {
      const node = unique('reports')
      await one.change(unique('any'))
      assert.equal((await one.news(node, 0)).reported, false)
      await one.report(node, [nodeStatus(unique('reported'))])
      assert.equal((await two.news(node, 0)).reported, true)
      await one.forgetNode(node)
      assert.equal((await two.news(node, 0)).reported, false)
    })

    it('keeps operations until their worker is erased', async () => {
      const worker = unique('operated')
      const [a, b] = ['a', 'b'].map((id) => ({
        id: unique(id),
        worker: id === 'a' ? worker : unique('other'),
        workerId: unique(`id-${id}`),
        action: 'start',
        generation: 4,
        targets: ['n1', 'n2'],
        desired: 'running' as const,
        at: systemClock.now(),
      }))
      assert.ok(a !== undefined && b !== undefined)
      await one.saveOperation(a)
      await one.saveOperation(b)
      assert.deepEqual(await two.operation(a.id), a)
      assert.equal(await two.operation('nothing'), undefined)
      await two.erase(worker, a.workerId)
      assert.equal(await one.operation(a.id), undefined)
      assert.deepEqual(await one.operation(b.id), b)
    })

    it('sums the attempts of 50 concurrent counts, in total and by minute and version', async () => {
      const [busy, idle, other] = [unique('busy'), unique('idle'), unique('other')]
      const since = systemClock.now() - 60_000
      await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          (index % 2 === 0 ? one : two).count([
            attempts(other, '1.0.0', { lost: 1, timedOut: 2, cancelled: 3 }),
            attempts(busy, '1.0.0'),
            attempts(busy, '2.0.0', { failed: 0, totalMs: 0.001 }),
            attempts(busy, '1.0.0', { completed: 1, failed: 0, totalMs: 0 }),
          ]),
        ),
      )
      assert.equal(await one.count([]), 0)
      const totals = await two.totals([busy, idle, other])
      assert.deepEqual([...totals.keys()].sort(), [busy, other].sort())
      assert.deepEqual(totals.get(busy), { completed: 250, failed: 50, ...none, totalMs: 75.05 })
      assert.deepEqual(totals.get(other), { completed: 100, failed: 50, lost: 50, timedOut: 100, cancelled: 150, totalMs: 75 })
      assert.equal((await two.totals([])).size, 0)
      const minutes = await two.counts([busy], { since, byMinute: true, byVersion: true })
      assert.ok(minutes.every(({ minute = 1 }) => minute % 60_000 === 0))
      const sumOf = (version: string) =>
        minutes.filter((entry) => entry.version === version).reduce((sum, { completed }) => sum + completed, 0)
      assert.deepEqual([sumOf('1.0.0'), sumOf('2.0.0')], [150, 100])
      assert.deepEqual(await two.counts([busy], { since: systemClock.now() + 3_600_000 }), [])
      assert.deepEqual([await two.counts([idle], { since }), await two.counts([], { since })], [[], []])
      const busyCounts = { worker: busy, completed: 250, failed: 50, ...none, totalMs: 75.05, durations: { 3: 150, 12: 300 } }
      const otherCounts = {
        worker: other,
        completed: 100,
        failed: 50,
        lost: 50,
        timedOut: 100,
        cancelled: 150,
        totalMs: 75,
        durations: { 3: 50, 12: 100 },
      }
      assert.deepEqual(await two.counts([other, idle, busy], { since }), [otherCounts, busyCounts])
      assert.deepEqual(await two.counts([busy, other], { since, byVersion: true }), [
        { ...busyCounts, version: '1.0.0', completed: 150, totalMs: 75, durations: { 3: 100, 12: 200 } },
        { ...busyCounts, version: '2.0.0', completed: 100, failed: 0, totalMs: 0.05, durations: { 3: 50, 12: 100 } },
        { ...otherCounts, version: '1.0.0' },
      ])
      await one.erase('a name', busy)
      assert.deepEqual([...(await two.totals([busy, other])).keys()], [other])
      assert.deepEqual(await two.counts([busy, other], { since }), [otherCounts])
    })

    it('counts many workers in all buckets, and returns them in the requested order', async () => {
      const names = Array.from({ length: 150 }, (_, n) => unique(`many-${n}`))
      const durations = Object.fromEntries(Array.from({ length: durationBounds.length + 1 }, (_, bucket) => [bucket, bucket + 1]))
      const since = systemClock.now() - 60_000
      await countAll(
        one,
        names.map((name) => attempts(name, '1.0.0', { durations })),
      )
      await countAll(
        one,
        names.map((name) => attempts(name, '1.0.0', { durations: {} })),
      )
      await countAll(
        one,
        names.map((name) => ({ ...attempts(name, '1.0.0'), version: null })),
      )
      const expected = names.map((worker) => ({ worker, completed: 4, failed: 2, ...none, totalMs: 3, durations }))
      assert.deepEqual(await two.counts(names.toReversed(), { since }), expected.reverse())
      await Promise.all(names.map((name) => one.erase(name, name)))
    })

    it('erases the statuses of a worker, and of no other', async () => {
      const node = unique('node')
      const [gone, stays] = [unique('gone'), unique('stays')]
      await one.report(node, [nodeStatus(gone), nodeStatus(stays)])
      await two.erase(gone, 'of another worker with this name')
      assert.equal((await one.statuses([gone])).length, 1)
      await two.erase(gone, 'id')
      assert.deepEqual(
        (await one.statuses([gone, stays])).map(({ worker }) => worker),
        [stays],
      )
      const running = await one.running([node])
      assert.deepEqual([running.has(gone), running.has(stays)], [false, true])
      await one.forgetNode(node)
    })
  })
}
