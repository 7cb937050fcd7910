import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { leaseMs } from './circuit.js'
import { guardLab, worker } from './testing/guard-lab.js'

describe('circuits of several processes', () => {
  it('open once for all of them, delay further jobs, and close when three probes have succeeded', async (t) => {
    const { clock, first, open, second, transitions } = await guardLab(t)
    assert.equal(await second.begin('j1'), 'ran')
    await open()
    assert.deepEqual([await first.begin('j1'), await second.begin('j2')], [30_000, 30_000])
    clock.advance(30_000)
    const admitted = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((id, index) => (index % 2 === 0 ? first : second).begin(id)))
    assert.equal(admitted.filter((one) => one === 'ran').length, 3)
    assert.deepEqual(new Set(admitted), new Set(['ran', 5000]))
    const heard = second.hears()
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'].filter((_id, index) => admitted[index] === 'ran')
    for (const id of ids) await ('ace'.includes(id) ? first : second).end(id, 'completed')
    await heard
    await second.guards.refresh(worker)
    assert.deepEqual([await first.begin('g'), await second.begin('h')], ['ran', 'ran'])
    assert.deepEqual(transitions, ['closed → open', 'open → half-open', 'half-open → closed'])
  })

  it('open again for twice the time when a probe fails, and other probes that end later change nothing', async (t) => {
    const { clock, first, open, transitions } = await guardLab(t)
    await open()
    clock.advance(30_000)
    assert.deepEqual([await first.begin('a'), await first.begin('b')], ['ran', 'ran'])
    await first.end('a', 'timedOut')
    await first.end('b', 'completed')
    assert.equal(await first.begin('c'), 60_000)
    assert.deepEqual(transitions.slice(2), ['half-open → open'])
  })

  it('do not count cancelled and deferred attempts, and replace such a probe with another job', async (t) => {
    const { clock, first, open, transitions } = await guardLab(t)
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k']) await first.end(id, id < 'f' ? 'cancelled' : 'deferred')
    assert.deepEqual(transitions, [])
    await open()
    clock.advance(30_000)
    for (const id of ['a', 'b', 'c']) assert.equal(await first.begin(id), 'ran')
    assert.equal(await first.begin('d'), 5000)
    await first.end('b', 'deferred')
    assert.equal(await first.begin('d'), 'ran')
  })

  it('are not blocked by a process that died with a probe, because its lease expires; a live process renews it', async (t) => {
    const { clock, first, open, second } = await guardLab(t)
    await open()
    clock.advance(30_000)
    for (const id of ['a', 'b']) assert.equal(await first.begin(id), 'ran')
    assert.equal(await second.begin('c'), 'ran')
    clock.advance(leaseMs - 1)
    await first.guards.renew()
    await second.guards.refresh(worker)
    assert.equal(await second.begin('d'), 5000)
    clock.advance(1)
    assert.equal(await first.begin('d'), 'ran')
    assert.equal(await first.begin('e'), 5000)
  })

  it('end a probe that was lost with its process, in the process that is notified', async (t) => {
    const { clock, first, open, second, transitions } = await guardLab(t)
    await open()
    clock.advance(30_000)
    const heard = second.hears()
    await first.begin('a')
    await heard
    await second.end('a', 'lost')
    assert.deepEqual(transitions.slice(1), ['open → half-open', 'half-open → open'])
  })

  it('are reloaded by a process that missed a message', async (t) => {
    const { clock, first, second } = await guardLab(t)
    await first.shared.change(worker, (circuits) => ({
      ...circuits,
      '': { state: 'open', since: 1, until: clock.now() + 30_000, openings: 1, reason: 'x' },
    }))
    await second.guards.poll()
    assert.equal(await second.begin('a'), 30_000)
    await first.shared.clear(worker)
    await second.guards.poll()
    assert.equal(await second.begin('a'), 'ran')
  })

  it('keep their state while the store is unavailable: no attempt fails, no probe runs, and a warning is logged once', async (t) => {
    const { clock, first, kv, logs, open, transitions } = await guardLab(t)
    kv.isAway = true
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) await first.end(id, 'failed')
    assert.equal(await first.begin('g'), 'ran')
    assert.equal(logs.lines.filter(({ level }) => level === 'warn').length, 1)
    kv.isAway = false
    await open()
    kv.isAway = true
    clock.advance(30_000)
    assert.equal(await first.begin('h'), 5000)
    kv.isAway = false
    assert.equal(await first.begin('h'), 'ran')
    assert.deepEqual(transitions, ['closed → open', 'open → half-open'])
  })

  it('exist per job name with perJobName', async (t) => {
    const { first } = await guardLab(t, { perJobName: true })
    for (const id of ['a', 'b', 'c', 'd', 'e']) await first.end(id, 'failed', 'invoice')
    assert.deepEqual(
      [await first.begin('x', 'invoice'), await first.begin('y', 'newsletter'), await first.begin('z', '__proto__')],
      [30_000, 'ran', 'ran'],
    )
  })

  it('have no overhead while no worker has one: nothing is attached to attempts, and a poll reads nothing', async (t) => {
    const { first, kv } = await guardLab(t)
    assert.equal(first.attached(), 1)
    const before = kv.calls
    await first.end('a', 'completed')
    assert.equal(await first.begin('b'), 'ran')
    assert.equal(kv.calls, before, 'a closed circuit asks the store nothing')
    first.guards.remove(worker)
    assert.equal(first.attached(), 0)
    await first.guards.poll()
    await first.guards.renew()
    assert.equal(kv.calls, before)
  })
})
