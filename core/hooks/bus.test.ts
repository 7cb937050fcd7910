import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HookBus } from './bus.js'
import { coreHooks } from './catalogue.js'
import type { HookKind, Notify, Settle } from './kinds.js'
import { makeBus, slotOf, specOf } from './tester.js'

const nothing = (): void => {}

describe('the hook bus', () => {
  it('accepts the hooks of the core', () => {
    const { bus } = makeBus()
    bus.declare('core', coreHooks)
    assert.equal(bus.slot('onReady').active, false)
    assert.deepEqual(
      bus.report().map(({ name }) => name),
      Object.keys(coreHooks),
    )
  })

  it('refuses a hook that is declared twice, names both owners, and declares nothing of that table', () => {
    const { bus } = makeBus()
    const undeclare = bus.declare('workers', { onJobStart: specOf('notify') })
    const again = { onOther: specOf('notify'), onJobStart: specOf('notify') }
    assert.throws(() => bus.declare('queues', again), { code: 'ZIN_HOOK_DUPLICATE', message: /^queues: .*"onJobStart".* workers / })
    assert.equal(bus.report().length, 1)
    undeclare()
    bus.declare('queues', again)
    undeclare()
    assert.deepEqual(
      bus.report().map(({ owner }) => owner),
      ['queues', 'queues'],
    )
  })

  it('refuses a hook with an unknown kind, a different kind than before, an invalid deadline or too many notify arguments', () => {
    const { bus } = makeBus()
    bus.declare('a', { onTest: specOf('notify') })()
    assert.throws(() => bus.declare('b', { onTest: specOf('gate') }), { code: 'ZIN_HOOK_KIND', message: /^b: .*gate.*notify/ })
    assert.throws(() => bus.declare('b', { onNew: specOf('parallel' as HookKind) }), {
      code: 'ZIN_HOOK_KIND',
      message: /"parallel".*notify, settle/,
    })
    assert.throws(() => bus.declare('b', { onNew: specOf('gate', { timeoutMs: -1 }) }), { code: 'ZIN_HOOK_TIMEOUT_MS' })
    assert.throws(() => bus.declare('b', { onNew: specOf('notify', { args: ['a', 'b', 'c', 'd', 'e'] }) }), { code: 'ZIN_HOOK_ARGS' })
    bus.declare('b', { onNew: specOf('settle', { args: ['a', 'b', 'c', 'd', 'e'] }) })
  })

  it('always returns the same slot object for a name', () => {
    const { bus } = makeBus()
    bus.declare('core', coreHooks)
    const slot = bus.slot('onReady')
    bus.on('a', 'onReady', nothing)()
    assert.equal(bus.slot('onReady'), slot)
  })

  it('refuses the slot of an undeclared hook and suggests a similar one', () => {
    const { bus } = makeBus()
    bus.declare('core', coreHooks)
    bus.on('a', 'onRaedy', nothing)
    assert.throws(() => slotOf(bus, 'onRaedy'), { code: 'ZIN_HOOK_UNKNOWN', message: /"onRaedy".*did you mean "onReady"\?/ })
    assert.throws(() => slotOf(bus, 'somethingElse'), { code: 'ZIN_HOOK_UNKNOWN', message: /enable the plugin/ })
  })

  it('lets listeners wait for a declaration', () => {
    const { bus } = makeBus()
    let calls = 0
    bus.on('audit', 'onJobStart', () => void calls++)
    assert.deepEqual(bus.report(), [])
    bus.declare('workers', { onJobStart: specOf('notify') })
    slotOf<Notify<[]>>(bus, 'onJobStart').call()
    assert.equal(calls, 1)
  })

  it('names listeners of undeclared hooks, each plugin once, with a suggestion', () => {
    const { bus } = makeBus()
    bus.declare('workers', { onJobStart: specOf('notify') })
    bus.on('audit', 'onJobStrat', nothing)
    bus.on('audit', 'onJobStrat', nothing)
    const dispose = bus.on('mailer', 'onGone', nothing)
    bus.on('mailer', 'onMoonrise', nothing)
    bus.on('audit', 'onJobStart', nothing)
    dispose()
    assert.deepEqual(bus.problems(), [
      'audit: listens to hook "onJobStrat", which no enabled plugin declares; did you mean "onJobStart"?',
      'mailer: listens to hook "onMoonrise", which no enabled plugin declares; enable the plugin that declares it',
    ])
  })

  it('reports notify options on a hook of another kind', () => {
    const { bus } = makeBus()
    bus.declare('workers', { onStart: specOf('settle'), onJob: specOf('notify') })
    bus.on('audit', 'onStart', { handler: nothing, sequential: true })
    bus.on('audit', 'onJob', { handler: nothing, sequential: true })
    assert.equal(bus.problems().length, 1)
    assert.match(bus.problems()[0] ?? '', /^audit: .*"onStart".*settle/)
  })

  it('re-sorts listeners when the ranks of plugins have changed', async () => {
    const ranks: Record<string, number> = { a: 1, b: 2 }
    const { bus } = makeBus(ranks)
    bus.declare('tester', { onTest: specOf('notify') })
    const ran: string[] = []
    for (const plugin of ['a', 'b']) bus.on(plugin, 'onTest', () => void ran.push(plugin))
    const slot = slotOf<Notify<[]>>(bus, 'onTest')
    slot.call()
    ranks.a = 3
    bus.reorder()
    slot.call()
    assert.deepEqual(ran, ['a', 'b', 'b', 'a'])
    assert.deepEqual(
      bus.report()[0]?.listeners.map(({ plugin }) => plugin),
      ['b', 'a'],
    )
  })

  it('reports owner, kind, summary, arguments and listeners', () => {
    const { bus } = makeBus()
    bus.declare('workers', { onTest: specOf('notify') })
    bus.on('audit', 'onTest', { handler: nothing, order: 'post' })
    slotOf<Notify<[]>>(bus, 'onTest').call()
    const listener = { plugin: 'audit', order: 'post', calls: 1, errors: 0, timeouts: 0, dropped: 0, pending: 0, muted: false, meanNs: 0 }
    assert.deepEqual(bus.report(), [
      { name: 'onTest', kind: 'notify', owner: 'workers', summary: 'A test', args: ['one', 'two'], listeners: [listener] },
    ])
  })

  it('shares nothing with another bus', () => {
    const [one, two] = [makeBus().bus, makeBus().bus]
    one.declare('tester', { onTest: specOf('notify') })
    one.on('a', 'onTest', nothing)
    two.declare('tester', { onTest: specOf('notify') })
    assert.equal(slotOf<Notify<[]>>(two, 'onTest').active, false)
    assert.ok(one instanceof HookBus)
  })
})

describe('a recorder', () => {
  it('records notify and settle emissions with their arguments, including hooks without listeners', async () => {
    const { bus } = makeBus()
    bus.declare('tester', { onNote: specOf('notify'), onSettle: specOf('settle'), before: specOf('gate') })
    const seen: unknown[] = []
    const dispose = bus.record((name, args) => seen.push([name, ...args]))
    bus.declare('tester', { onLater: specOf('notify') })
    const note = slotOf<Notify<unknown[]>>(bus, 'onNote')
    assert.equal(note.active, true)
    assert.equal(slotOf<Notify<unknown[]>>(bus, 'before').active, false)
    note.call('a', 1)
    note.call()
    slotOf<Notify<unknown[]>>(bus, 'onLater').call('b')
    assert.deepEqual(await slotOf<Settle<unknown[]>>(bus, 'onSettle').call('c'), [])
    dispose()
    note.call('unseen')
    assert.equal(note.active, false)
    assert.deepEqual(seen, [['onNote', 'a', 1], ['onNote'], ['onLater', 'b'], ['onSettle', 'c']])
  })

  it('continues when another recorder with the same function ends', () => {
    const { bus } = makeBus()
    bus.declare('tester', { onNote: specOf('notify') })
    let seen = 0
    const recorder = (): void => void seen++
    const dispose = bus.record(recorder)
    bus.record(recorder)
    dispose()
    dispose()
    slotOf<Notify<[]>>(bus, 'onNote').call()
    assert.equal(seen, 1)
  })
})
