import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeClock, memoryLogger } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { localCluster } from './index.js'
import { createCluster } from './service.js'
import { MemoryHub, memoryStore } from './store/memory.js'
import { silentLog } from './testing/cluster-pair.js'

const role = 'test.pruner'
const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

describe('the roles of a node', () => {
  it('are released when all holders have resigned, and can be acquired again', async () => {
    const cluster = localCluster({ node: { id: 'a' }, clock: fakeClock(), log: silentLog })
    await cluster.open()
    const [one, two] = [cluster.lead(role), cluster.lead(role)]
    await eventually('both lead', () => one.leads && two.leads)
    await one.resign()
    await one.resign()
    assert.deepEqual([one.leads, two.leads], [false, true])
    await two.resign()
    assert.equal(two.leads, false)
    const again = cluster.lead(role)
    await eventually('it leads again', () => again.leads)
    await cluster.close()
    assert.equal(again.leads, false)
  })

  it('end when the lease is not renewed in time by the monotonic clock, whatever the wall clock does', async () => {
    const clock = fakeClock()
    const cluster = localCluster({ node: { id: 'a' }, clock, log: silentLog, leaseMs: 15_000 })
    await cluster.open()
    const leadership = cluster.lead(role)
    await eventually('it leads', () => leadership.leads)
    clock.set(clock.now() + 1)
    clock.advance(9_999)
    assert.equal(leadership.leads, true)
    clock.advance(1)
    assert.deepEqual([leadership.leads, leadership.epoch], [false, 1])
    await cluster.heartbeat()
    assert.equal(leadership.leads, true)
    await cluster.close()
  })

  it('cost nothing to hold: idle heartbeats acquire no role', async () => {
    const clock = fakeClock()
    const asked: string[] = []
    const store = memoryStore({ clock })
    const counting = new Proxy(store, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          asked.push(String(key))
          return value.apply(target, args)
        }
      },
    })
    const node = { id: 'a', host: 'h', pid: 1, startedAt: 0 }
    const cluster = createCluster({ store: counting, node, clock, log: silentLog, leaseMs: 15_000 })
    await cluster.open()
    const leadership = cluster.lead(role)
    await eventually('it leads', () => leadership.leads)
    asked.length = 0
    for (let beats = 0; beats < 3; beats++) await cluster.heartbeat()
    assert.deepEqual(asked, ['renew', 'renew', 'renew'])
    await cluster.close()
  })

  it('log one warning while the store is unavailable, throw nothing, and are acquired again when it is back; nothing is left at the end', async () => {
    const before = timers()
    const clock = fakeClock()
    let away = false
    const hub = new MemoryHub()
    const store = memoryStore({ clock, hub })
    const flaky = new Proxy(store, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        return async (...args: unknown[]) => {
          if (away && key !== 'close') throw new Error('away')
          return value.apply(target, args)
        }
      },
    })
    const log = memoryLogger()
    const cluster = createCluster({ store: flaky, node: { id: 'a', host: 'h', pid: 1, startedAt: 0 }, clock, log, leaseMs: 15_000 })
    await cluster.open()
    away = true
    const leadership = cluster.lead(role)
    for (let beats = 0; beats < 3; beats++) await cluster.heartbeat()
    assert.equal(leadership.leads, false)
    assert.deepEqual(
      log.lines.map(({ level }) => level),
      ['warn', 'warn'],
    )
    away = false
    await cluster.heartbeat()
    await eventually('it leads', () => leadership.leads)
    assert.deepEqual(log.lines.map(({ level }) => level).sort(), ['info', 'info', 'warn', 'warn'])
    await cluster.close()
    assert.equal(timers(), before)
  })

  it('leave no timer when a renewal ends after the close began', async () => {
    const clock = fakeClock()
    const store = memoryStore({ clock })
    /** Called by each renewal, which continues when this resolves. */
    let renewing: () => Promise<void> = async () => {}
    const slow: typeof store = new Proxy(store, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key, target)
        if (typeof value !== 'function') return value
        return key === 'renew' ? (...args: unknown[]) => renewing().then(() => value.apply(target, args)) : value.bind(target)
      },
    })
    const before = timers()
    const node = { id: 'a', host: 'h', pid: 1, startedAt: 0 }
    const cluster = createCluster({ store: slow, node, clock, log: silentLog, leaseMs: 15_000 })
    await cluster.open()
    let closed: Promise<void> | undefined
    renewing = async () => {
      closed = cluster.close()
    }
    await cluster.heartbeat()
    assert.ok(closed)
    await closed
    assert.equal(timers(), before)
  })
})
