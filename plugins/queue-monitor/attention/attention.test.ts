import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Manage, NotifySlot } from 'zin'
import { systemClock } from 'zin'
import type { Kv } from 'zin/plugins/kv'
import { memoryLogger } from 'zin/testing'
import { pluginScope } from '../access/scope.js'
import type { AttentionChange } from '../hooks.js'
import { Attention } from './attention.js'
import type { OwnedFact } from './item.js'
import type { Found } from './track.js'

const scope = pluginScope('test')
const fact: OwnedFact = { plugin: 'p', kind: 'k', subject: 'a:b', cause: 'it fails', act: { label: 'Open', href: '/console' } }

/** Two processes of an app with one store, which can fail. */
function appOf() {
  const stored = new Map<string, string>()
  const state = { now: systemClock.now(), down: false, undeliverable: false, checks: 0, facts: [fact] as readonly OwnedFact[] }
  const told: string[] = []
  const episodes = new Set<string>()
  const check = <T>(value: T): T => {
    if (state.down) throw new Error('the store is gone')
    return value
  }
  const kv = {
    get: async (key: string) => check(stored.get(key) ?? null),
    getMany: async (wanted: readonly string[]) => check(wanted.map((key) => stored.get(key) ?? null)),
    set: async (key: string, value: string) => check(stored.set(key, value).size > 0),
  } as unknown as Kv
  const collect = async (): Promise<Found> => {
    state.checks++
    const notChecked = state.down ? [{ plugin: 'p', kind: 'p', reason: 'the store is gone' }] : []
    return { facts: state.down ? [] : state.facts, notChecked, failed: new Set(state.down ? ['p'] : []) }
  }
  const processOf = (leads: boolean): Attention =>
    new Attention({
      collector: { collect, publish: async () => undefined },
      kv,
      clock: { now: () => state.now, monotonic: () => state.now } as typeof systemClock,
      log: memoryLogger(),
      manage: ((_action: unknown, work: () => Promise<unknown>) => work()) as unknown as Manage,
      periodMs: 15_000,
      leads: () => leads,
      isApp: true,
      onAttentionChange: { active: false } as NotifySlot<[change: AttentionChange]>,
      deliver: async (changes) => {
        for (const { episode, state: to } of changes) {
          // A queue takes an id once.
          if (!episodes.has(`${to} ${episode}`)) told.push(to)
          episodes.add(`${to} ${episode}`)
        }
        if (state.undeliverable) throw new Error('no response, although it was stored')
      },
    })
  return { state, told, processOf, leader: processOf(true), other: processOf(false) }
}

const list = (attention: Attention) => attention.list({ scope, all: true })

describe('the list of what needs attention', () => {
  it('is checked and told by the leader, and read by the other processes', async () => {
    const { leader, other, state, told } = appOf()
    await Promise.all([leader.tick(), other.tick()])
    assert.deepEqual([state.checks, told], [1, ['raised']])
    assert.deepEqual((await list(other)).items, (await list(leader)).items)
    assert.deepEqual([state.checks, (await list(other)).items.length], [1, 1])
    state.facts = []
    state.now += 15_000
    await leader.tick()
    assert.deepEqual([told, (await list(other)).items], [['raised', 'cleared'], []])
  })

  it('is told once when the delivery fails after it was stored, or the process ends before it is known', async () => {
    const { leader, processOf, state, told } = appOf()
    state.undeliverable = true
    await leader.tick()
    assert.deepEqual(told, ['raised'])
    state.now += 15_000
    await leader.tick()
    state.undeliverable = false
    state.now += 15_000
    await processOf(true).tick()
    assert.deepEqual(told, ['raised'])
    state.facts = []
    state.undeliverable = true
    state.now += 15_000
    await leader.tick()
    state.undeliverable = false
    state.now += 15_000
    await processOf(true).tick()
    assert.deepEqual(told, ['raised', 'cleared'])
  })

  it('leaves nothing out without saying so, and tells credentials for queues what may concern theirs', async () => {
    const { leader, state } = appOf()
    for (const [kinds, each] of [
      [1, 150],
      [8, 90],
      [27, 400],
    ] as const) {
      state.facts = Array.from({ length: kinds * each }, (_, i) => ({
        ...fact,
        kind: `k${i % kinds}`,
        subject: `queue:q${i}`,
        queue: `q${i}`,
      }))
      state.now += 60_000
      await leader.tick()
      const { items } = await list(leader)
      assert.ok(items.length <= 500, `${items.length} items`)
      const sums = items.filter(({ subject }) => subject === 'app:others')
      const listed = items.length - sums.length
      assert.equal(listed + sums.reduce((sum, { count }) => sum + count, 0), kinds * each)
      const ofQueue = { ...scope, queues: ['q1'], sees: (queue: string) => queue === 'q1' }
      const { notChecked } = await leader.list({ scope: ofQueue, all: false })
      assert.equal(notChecked.filter(({ reason }) => /more of this kind are not listed/.test(reason)).length, sums.length)
    }
  })

  it('is checked on request when no leader has for a while, once for all callers', async () => {
    const { other, state, told } = appOf()
    const [first, second] = await Promise.all([list(other), list(other)])
    assert.deepEqual([state.checks, told, first.items.length, second.items.length], [1, [], 1, 1])
    state.now += 60_000
    await list(other)
    assert.equal(state.checks, 2)
  })

  it('keeps what it knew and says what it could not check while the store does not respond', async () => {
    const { leader, other, state } = appOf()
    await leader.tick()
    await list(other)
    state.down = true
    state.now += 60_000
    const { items, notChecked } = await list(other)
    assert.deepEqual([items.map(({ subject }) => subject), notChecked.map(({ kind }) => kind)], [['a:b'], ['history', 'p']])
    await leader.tick()
    state.down = false
    state.now += 60_000
    await leader.tick()
    assert.deepEqual((await list(other)).notChecked, [])
  })

  it('keeps acknowledgements over restarts, until the cause has gone', async () => {
    const { leader, other, processOf, state } = appOf()
    await leader.tick()
    const [item] = (await list(other)).items
    await other.acknowledge(item?.id ?? '', ' known\n', { scope, all: true })
    const [again, another] = [processOf(true), processOf(false)]
    state.now += 15_000
    await again.tick()
    assert.deepEqual((await list(another)).items[0]?.acknowledged?.note, 'known')
    for (const facts of [[], [fact]]) {
      state.facts = facts
      state.now += 15_000
      await again.tick()
    }
    const [back] = (await list(another)).items
    assert.deepEqual([back?.id, back?.acknowledged], [item?.id, undefined])
  })
})
