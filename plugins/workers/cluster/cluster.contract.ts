import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { systemClock } from 'zin'
import { eventually, hear, nodeInfo, nodeStatus, silentLog } from '../testing/helpers.js'
import type { AttemptDelta, Cluster, ClusterMessage } from './cluster.js'
import { runForLead } from './leadership.js'

export interface ClusterStore {
  /** A cluster object of another process; memory has only one. */
  open(): Promise<Cluster>
  /** Makes leases, counts, messages and operations in the store older by so many ms. */
  age(ms: number): Promise<void>
  close(): Promise<void>
}

const unique = (name: string): string => `${name}-${randomUUID().slice(0, 8)}`
const attempts = (worker: string, version: string, changes: Partial<AttemptDelta> = {}): AttemptDelta => ({
  worker,
  version,
  completed: 2,
  failed: 1,
  lost: 0,
  totalMs: 1.5,
  ...changes,
})

/** What every cluster does, between two objects on one store as between two processes. */
export function clusterContract(title: string, makeStore: () => Promise<ClusterStore>): void {
  describe(`the cluster on ${title}`, { timeout: 60_000 }, () => {
    let store: ClusterStore
    let one: Cluster
    let two: Cluster
    before(async () => {
      store = await makeStore()
      one = await store.open()
      two = await store.open()
    })
    after(async () => {
      await Promise.all([one.close(), two.close()])
      await store.close()
    })
    const find = async (id: string) => (await two.nodes()).find((node) => node.id === id)

    it('knows a process from its first beat on, and tells that it joined, once', async () => {
      const info = nodeInfo()
      const { heard, unlisten, count } = hear(two, (message) => message.kind === 'node' && message.node === info.id)
      const { nodes } = await one.beat(info, 30_000)
      const { alive, leaseUntil, leaseMs, ...rest } = nodes.find((node) => node.id === info.id) ?? assert.fail('not listed')
      assert.deepEqual(rest, info)
      assert.equal(alive, true)
      assert.ok(leaseMs > 0 && leaseMs <= 30_000)
      assert.ok(Math.abs(leaseUntil - systemClock.now()) < 60_000, 'ms since 1970')
      assert.equal((await find(info.id))?.alive, true)
      await one.beat({ ...info, region: 'us' }, 30_000)
      assert.equal((await find(info.id))?.region, 'us')
      await one.leave(info.id)
      await count(2)
      assert.deepEqual(heard, [
        { kind: 'node', node: info.id, joined: true },
        { kind: 'node', node: info.id, joined: false },
      ])
      unlisten()
    })

    it('forgets a process that leaves, and what it said', async () => {
      const info = nodeInfo()
      const worker = unique('left')
      await one.beat(info, 30_000)
      await one.report(info.id, [nodeStatus(worker)])
      await one.leave(info.id)
      await one.leave(info.id)
      assert.equal(await find(info.id), undefined)
      assert.equal((await two.statuses([worker])).size, 0)
      assert.equal((await two.running()).has(worker), false)
    })

    it('lists a process whose lease ended as not alive, forgets it after a while, and tells when it is back', async () => {
      const [lost, living] = [nodeInfo(), nodeInfo()]
      const worker = unique('lost')
      const { heard, unlisten, count } = hear(two, (message) => message.kind === 'node' && message.node === lost.id)
      await one.beat(lost, 30_000)
      await one.report(lost.id, [nodeStatus(worker)])
      assert.ok((await two.running()).has(worker))
      await count(1)
      await store.age(31_000)
      await two.beat(living, 900_000)
      const { alive, leaseMs } = (await find(lost.id)) ?? assert.fail('forgotten at once')
      assert.deepEqual({ alive, leaseMs }, { alive: false, leaseMs: 0 })
      const [status] = (await two.statuses([worker])).get(worker) ?? []
      assert.deepEqual(status, { ...nodeStatus(worker), node: lost.id, alive: false })
      assert.equal((await two.running()).has(worker), false)
      await two.sweep()
      assert.equal((await find(lost.id))?.alive, false)
      await store.age(300_000)
      await two.sweep()
      assert.equal(await find(lost.id), undefined)
      assert.equal((await two.statuses([worker])).size, 0)
      assert.equal((await find(living.id))?.alive, true)
      await one.beat(lost, 30_000)
      await count(2)
      assert.deepEqual(heard, Array(2).fill({ kind: 'node', node: lost.id, joined: true }))
      unlisten()
      await Promise.all([one.leave(lost.id), two.leave(living.id)])
    })

    it('keeps and tells statuses of all processes, by worker', async () => {
      const [a, b] = [nodeInfo(), nodeInfo()]
      const [emails, Emails, reports] = [unique('emails'), unique('Emails'), unique('reports')]
      const { heard, unlisten, count } = hear(two, (message) => message.kind === 'status' && [a.id, b.id].includes(message.node))
      await one.beat(a, 30_000)
      await two.beat(b, 30_000)
      const failed = nodeStatus(reports, {
        state: 'FAILED',
        version: null,
        error: { code: 'X', message: "it's ünï🎈", status: 422 },
        check: { healthy: false, failures: 2, durationMs: 3, error: 'down', details: { a: [1] }, at: 1 },
      })
      await one.report(a.id, [nodeStatus(emails), failed, nodeStatus(Emails, { state: 'stopped' })])
      await two.report(b.id, [nodeStatus(emails, { state: 'paused' })])
      await one.report(a.id, [])
      const found = await two.statuses([emails, reports, Emails, 'nobody', emails])
      assert.deepEqual([...found.keys()].sort(), [Emails, emails, reports].sort())
      assert.deepEqual(found.get(reports), [{ ...failed, node: a.id, alive: true }])
      assert.deepEqual(
        found
          .get(emails)
          ?.map(({ node, state }) => [node, state])
          .sort(),
        [
          [a.id, 'running'],
          [b.id, 'paused'],
        ].sort(),
      )
      const running = await two.running()
      assert.deepEqual([running.has(emails), running.has(reports), running.has(Emails)], [true, false, false])
      await count(4)
      assert.deepEqual(
        heard.filter((message) => 'status' in message && message.node === a.id),
        [nodeStatus(emails), failed, nodeStatus(Emails, { state: 'stopped' })].map((status) => ({ kind: 'status', node: a.id, status })),
      )
      await one.report(a.id, [nodeStatus(emails, { state: 'stopped' })])
      assert.equal((await two.running()).has(emails), false)
      await one.forget(a.id, reports, 'another of that name')
      assert.equal((await two.statuses([reports])).size, 1)
      await one.forget(a.id, reports, failed.workerId)
      assert.equal((await two.statuses([reports])).size, 0)
      assert.equal((await two.statuses([])).size, 0)
      unlisten()
      await Promise.all([one.leave(a.id), two.leave(b.id)])
    })

    it('does not show what a process said that is not known', async () => {
      const worker = unique('stranger')
      await one.report('stranger', [nodeStatus(worker)])
      assert.equal((await two.statuses([worker])).size, 0)
      assert.equal((await two.running()).has(worker), false)
    })

    it('brings messages to every process once, those of one sender in their order', async () => {
      const requests = Array.from({ length: 100 }, (_, index) => String(index))
      const senders = [unique('a'), unique('b')] as const
      const ears = [one, two].map((cluster) => hear(cluster, (message) => message.kind === 'cancelled' && senders.includes(message.node)))
      await Promise.all(
        requests.flatMap((request) => [
          one.send({ kind: 'cancelled', request, node: senders[0] }),
          two.send({ kind: 'cancelled', request, node: senders[1] }),
        ]),
      )
      for (const { heard, count, unlisten } of ears) {
        await count(200)
        for (const sender of senders) {
          const told = heard.flatMap((message) => (message.kind === 'cancelled' && message.node === sender ? [message.request] : []))
          assert.deepEqual(told, requests)
        }
        unlisten()
      }
    })

    it('hears later, not within the call, nothing after it stopped listening, and whatever another listener throws', async () => {
      const worker = unique('throws')
      const mine = (message: ClusterMessage): boolean => message.kind === 'change' && message.worker === worker
      const before = one.listen(() => {
        throw new Error('a listener that throws')
      })
      const early = hear(one, mine)
      const stays = hear(one, mine)
      const sent = one.announce(worker)
      assert.equal(stays.heard.length, 0)
      await sent
      await stays.count(1)
      assert.equal(early.heard.length, 1)
      early.unlisten()
      early.unlisten()
      await one.announce(worker)
      await stays.count(2)
      assert.equal(early.heard.length, 1)
      before()
      stays.unlisten()
    })

    it('counts changes, for those that missed the message', async () => {
      const info = nodeInfo()
      const worker = unique('changed')
      const { unlisten, heard, count } = hear(two, (message) => message.kind === 'change' && message.worker === worker)
      const { revision } = await one.beat(info, 30_000)
      await Promise.all([one.announce(worker), two.announce(worker), one.announce(worker)])
      assert.equal((await two.beat(info, 30_000)).revision, revision + 3)
      await count(3)
      assert.deepEqual(heard[0], { kind: 'change', worker })
      unlisten()
      await one.leave(info.id)
    })

    it('keeps operations until their worker is erased', async () => {
      const worker = unique('operated')
      const [a, b] = ['a', 'b'].map((id) => ({
        id: unique(id),
        worker: id === 'a' ? worker : unique('other'),
        workerId: 'id',
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
      await two.erase(worker)
      assert.equal(await one.operation(a.id), undefined)
      assert.deepEqual(await one.operation(b.id), b)
    })

    it('adds up attempts that 50 counts bring at once, in all and by minute and version', async () => {
      const [busy, idle, other] = [unique('busy'), unique('idle'), unique('other')]
      const since = systemClock.now() - 60_000
      await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          (index % 2 === 0 ? one : two).count([
            attempts(other, '1.0.0', { lost: 1 }),
            attempts(busy, '1.0.0'),
            attempts(busy, '2.0.0', { failed: 0, totalMs: 0.001 }),
            attempts(busy, '1.0.0', { completed: 1, failed: 0, totalMs: 0 }),
          ]),
        ),
      )
      await one.count([])
      const totals = await two.totals([busy, idle, other])
      assert.deepEqual([...totals.keys()].sort(), [busy, other].sort())
      assert.deepEqual(totals.get(busy), { completed: 250, failed: 50, lost: 0, totalMs: 75.05 })
      assert.deepEqual(totals.get(other), { completed: 100, failed: 50, lost: 50, totalMs: 75 })
      assert.equal((await two.totals([])).size, 0)
      const minutes = await two.minutes(busy, since)
      assert.ok(minutes.every(({ minute }) => minute % 60_000 === 0))
      const sumOf = (version: string) =>
        minutes.filter((entry) => entry.version === version).reduce((sum, { completed }) => sum + completed, 0)
      assert.deepEqual([sumOf('1.0.0'), sumOf('2.0.0')], [150, 100])
      assert.deepEqual(await two.minutes(busy, systemClock.now() + 3_600_000), [])
      assert.deepEqual(await two.minutes(idle, since), [])
      await one.erase(busy)
      assert.deepEqual([...(await two.totals([busy, other])).keys()], [other])
      assert.deepEqual(await two.minutes(busy, since), [])
      assert.notDeepEqual(await two.minutes(other, since), [])
    })

    it('erases what was said of a worker, and of no other', async () => {
      const info = nodeInfo()
      const [gone, stays] = [unique('gone'), unique('stays')]
      await one.beat(info, 30_000)
      await one.report(info.id, [nodeStatus(gone), nodeStatus(stays)])
      await two.erase(gone)
      assert.deepEqual([...(await one.statuses([gone, stays])).keys()], [stays])
      const running = await one.running()
      assert.deepEqual([running.has(gone), running.has(stays)], [false, true])
      await one.leave(info.id)
    })

    it('gives a role to one process, with a larger epoch at every change of hands', async () => {
      const role = unique('role')
      assert.equal(await one.leads(role, 1), false)
      assert.equal(await one.lead(role, 'a', 20_000), 1)
      assert.equal(await two.lead(role, 'b', 20_000), undefined)
      assert.equal(await one.lead(role, 'a', 20_000), 1)
      assert.equal(await two.leads(role, 1), true)
      await store.age(21_000)
      assert.equal(await two.lead(role, 'b', 20_000), 2)
      assert.equal(await one.lead(role, 'a', 20_000), undefined)
      assert.equal(await one.leads(role, 1), false)
      assert.equal(await one.leads(role, 2), true)
    })

    it('gives a role to one of many that run for it at once', async () => {
      const role = unique('race')
      const nodes = Array.from({ length: 12 }, (_, index) => `node-${index}`)
      const race = () => Promise.all(nodes.map((node, index) => (index % 2 === 0 ? one : two).lead(role, node, 20_000)))
      assert.deepEqual(
        (await race()).filter((epoch) => epoch !== undefined),
        [1],
      )
      await store.age(21_000)
      const second = (await race()).filter((epoch) => epoch !== undefined)
      assert.ok(second.length === 1 && second[0] !== undefined && second[0] <= 2)
    })

    it('makes a role vacant when its holder resigns, and only then', async () => {
      const role = unique('resigned')
      const { heard, unlisten, count } = hear(two, (message) => message.kind === 'vacant' && message.role === role)
      assert.equal(await one.lead(role, 'a', 20_000), 1)
      await two.resign(role, 'b')
      assert.equal(await two.lead(role, 'b', 20_000), undefined)
      await one.resign(role, 'a')
      assert.equal(await two.leads(role, 1), true)
      assert.equal(await two.lead(role, 'b', 20_000), 2)
      await count(1)
      assert.deepEqual(heard, [{ kind: 'vacant', role }])
      unlisten()
    })

    it('hands a role from one candidate to the other, and never lets both lead with one epoch', async () => {
      const role = unique('candidates')
      const candidates = [one, two].map((cluster, index) =>
        runForLead(cluster, { role, node: `node-${index}`, clock: systemClock, leaseMs: 60_000, log: silentLog }),
      )
      for (const candidate of candidates) candidate.start()
      await eventually('somebody leads', () => candidates.some(({ leads }) => leads))
      await setImmediate()
      const [leader, follower] = candidates[0]?.leads === true ? candidates : candidates.toReversed()
      assert.ok(leader !== undefined && follower !== undefined)
      assert.deepEqual([leader.leads, leader.epoch, follower.leads], [true, 1, false])
      await leader.resign()
      assert.equal(leader.leads, false)
      await eventually('the other one leads', () => follower.leads)
      assert.equal(follower.epoch, 2)
      assert.deepEqual([await one.leads(role, leader.epoch), await one.leads(role, follower.epoch)], [false, true])
      await follower.resign()
    })

    it('knows no error of its own making as a store that is away', () => {
      assert.equal(one.isUnavailable(new Error('something else')), false)
    })
  })
}
