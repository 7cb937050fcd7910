import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { systemClock } from 'zin'
import { eventually } from '../../../scripts/testing/eventually.js'
import { defineMessage } from '../contract.js'
import type { OwnedCluster } from '../service.js'
import { openNode } from '../testing/cluster-pair.js'
import type { ClusterStore } from './contract.js'

export interface TestedStore {
  /** Opens a store as another process would. */
  open(): Promise<ClusterStore>
  /** Ages leases and messages by `ms`. */
  age(ms: number): Promise<void>
  close(): Promise<void>
}

const numbered = defineMessage<{ readonly sender: string; readonly n: number }>('test.numbered')
const unique = (name: string): string => `${name}-${randomUUID().slice(0, 8)}`

/** The contract of every store, tested with two nodes on one store. */
export function clusterContract(title: string, makeStore: () => Promise<TestedStore>): void {
  describe(`the cluster on ${title}`, { timeout: 120_000 }, () => {
    let store: TestedStore
    let one: OwnedCluster
    let two: OwnedCluster
    before(async () => {
      store = await makeStore()
      one = await openNode(await store.open())
      two = await openNode(await store.open())
    })
    after(async () => {
      await Promise.all([one.close(), two.close()])
      await store.close()
    })
    const join = async (id = unique('node')) => openNode(await store.open(), { id })
    const find = (id: string, by = two) => by.nodes().find((node) => node.id === id)

    it('lists its nodes, and reports those that join, change their labels and leave', async () => {
      await eventually('both know each other', () => find(two.node.id, one)?.alive === true && find(one.node.id)?.alive === true)
      const changes: string[] = []
      const end = two.onNodes(({ joined, left }) => changes.push(...joined.map((id) => `+${id}`), ...left.map((id) => `-${id}`)))
      const third = await join()
      const { id } = third.node
      await eventually('it joined', () => find(id) !== undefined)
      assert.deepEqual(find(id), { ...third.node, alive: true })
      await third.label({ 'test.region': 'eu', 'test.busy': true })
      await eventually('it has labels', () => find(id)?.labels['test.region'] === 'eu')
      await third.close()
      await eventually('it left', () => find(id) === undefined)
      assert.deepEqual(changes, [`+${id}`, `-${id}`])
      end()
    })

    it('reads leases by the clock of the store', async () => {
      const lease = (await two.readNodes()).find(({ id }) => id === one.node.id) ?? assert.fail('not listed')
      assert.ok(lease.leaseMs > 0 && lease.leaseMs <= 3_600_000)
      assert.ok(Math.abs(lease.leaseUntil - lease.leaseMs - systemClock.now()) < 60_000, 'ms since 1970')
    })

    it('lists a node whose lease expired as lost, removes it after a while, and lists it again when it is back', async () => {
      const lost = await join()
      const { id } = lost.node
      await eventually('it joined', () => find(id) !== undefined)
      await store.age(3_600_001)
      await Promise.all([one.heartbeat(), two.heartbeat()])
      assert.equal(find(id)?.alive, false)
      await two.sweep()
      assert.equal((await two.readNodes()).find((node) => node.id === id)?.alive, false)
      await store.age(300_001)
      await Promise.all([one.heartbeat(), two.heartbeat()])
      await two.sweep()
      assert.equal(
        (await two.readNodes()).find((node) => node.id === id),
        undefined,
      )
      let missed = 0
      lost.onMissed(() => missed++)
      await lost.heartbeat()
      assert.equal(missed, 1)
      await eventually('it is back', () => find(id)?.alive === true)
      await lost.close()
    })

    it('delivers messages to every node once, those of one sender in order', async () => {
      const heard = [one, two].map((cluster) => {
        const list: { sender: string; n: number; from: string }[] = []
        return { list, end: cluster.on(numbered, (body, from) => list.push({ ...body, from })) }
      })
      const numbers = Array.from({ length: 100 }, (_, n) => n)
      await Promise.all(numbers.flatMap((n) => [one.send(numbered, { sender: 'one', n }), two.send(numbered, { sender: 'two', n })]))
      for (const { list, end } of heard) {
        await eventually('all of them', () => list.length >= 200)
        for (const [sender, from] of [
          ['one', one.node.id],
          ['two', two.node.id],
        ]) {
          const told = list.filter((message) => message.sender === sender)
          assert.deepEqual(
            told,
            numbers.map((n) => ({ sender, n, from })),
          )
        }
        end()
      }
    })

    it('calls a listener after the send, never after its removal, and even if another listener throws', async () => {
      const kind = defineMessage<string>(unique('test.throws'))
      const [early, stays]: string[][] = [[], []]
      one.on(kind, () => {
        throw new Error('a listener that throws')
      })
      const endEarly = one.on(kind, (text) => early?.push(text))
      one.on(kind, (text) => stays?.push(text))
      const sent = one.send(kind, 'first')
      assert.equal(stays?.length, 0)
      await sent
      await eventually('the first', () => stays?.length === 1)
      endEarly()
      endEarly()
      await two.send(kind, 'größer 🎈')
      await eventually('the second', () => stays?.length === 2)
      assert.deepEqual([early, stays], [['first'], ['first', 'größer 🎈']])
    })

    it('assigns a role to one node, with a larger epoch each time it changes hands', async () => {
      const role = unique('role')
      const events: string[] = []
      const leader = one.lead(role, { onGain: (epoch) => events.push(`one +${epoch}`), onLoss: () => events.push('one -') })
      await eventually('one leads', () => leader.leads)
      const other = two.lead(role, { onGain: (epoch) => events.push(`two +${epoch}`) })
      await two.heartbeat()
      assert.deepEqual([leader.epoch, other.leads, await two.isCurrent(role, 1)], [1, false, true])
      await leader.resign()
      assert.equal(leader.leads, false)
      await eventually('two leads', () => other.leads)
      assert.deepEqual([other.epoch, await one.isCurrent(role, 1), await one.isCurrent(role, 2)], [2, false, true])
      assert.deepEqual(events, ['one +1', 'one -', 'two +2'])
      await other.resign()
    })

    it('forgets a role on request, so that one that comes and goes leaves nothing behind', async () => {
      const role = unique('passing')
      const first = one.lead(role)
      await first.tried
      const next = two.lead(role)
      await next.tried
      assert.deepEqual([first.leads, next.leads], [true, false])
      await first.resign({ forget: true })
      await eventually('two leads', () => next.leads)
      assert.equal(next.epoch, 1)
      await next.resign({ forget: true })
      assert.deepEqual([await one.isCurrent(role, 0), await one.isCurrent(role, 1)], [true, false])
    })

    it('assigns a role to one of many nodes that run for it at once', async () => {
      const role = unique('race')
      const nodes = await Promise.all(Array.from({ length: 6 }, () => join()))
      const candidates = nodes.map((node) => node.lead(role))
      await eventually('one leads', () => candidates.some(({ leads }) => leads))
      await Promise.all(nodes.map((node) => node.heartbeat()))
      assert.equal(candidates.filter(({ leads }) => leads).length, 1)
      await Promise.all(nodes.map((node) => node.close()))
    })

    it('reassigns the roles of a node that left or whose lease expired, and of no other', async () => {
      const role = unique('heir')
      const holder = await join()
      const held = holder.lead(role)
      await eventually('it leads', () => held.leads)
      const heir = two.lead(role)
      await holder.close()
      assert.equal(held.leads, false)
      await eventually('the heir leads', () => heir.leads)
      const next = one.lead(role)
      await store.age(3_600_001)
      await one.heartbeat()
      await eventually('the next leads', () => next.leads)
      assert.deepEqual([next.epoch, await two.isCurrent(role, 2)], [3, false])
      await two.heartbeat()
      assert.deepEqual([heir.leads, next.leads], [false, true])
      await Promise.all([heir.resign(), next.resign()])
    })
  })
}
