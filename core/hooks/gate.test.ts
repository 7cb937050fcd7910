import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deny, type Gate } from './kinds.js'
import { testKind } from './test-kind.js'
import { busWith, never } from './tester.js'

type Hook = Gate<[worker: string]>

testKind('gate')

describe('a gate hook', () => {
  it('opens if no listener denies', async () => {
    const { bus, slot } = busWith<Hook>('gate')
    assert.deepEqual(await slot.call('emails'), { denied: false })
    bus.on('first', 'onTest', () => undefined)
    bus.on('second', 'onTest', async () => {})
    assert.deepEqual(await slot.call('emails'), { denied: false })
  })

  it('stops at the first denial and names its plugin', async () => {
    const { bus, slot, listener } = busWith<Hook>('gate')
    bus.on('first', 'onTest', async (worker: string) => deny(`${worker} is busy`))
    bus.on('second', 'onTest', () => undefined)
    assert.deepEqual(await slot.call('emails'), { denied: true, reason: 'emails is busy', plugin: 'first' })
    assert.equal(listener(1).calls, 0)
  })

  it('stays closed if a listener throws, rejects or times out, and logs it', async () => {
    const broken = [
      {
        handler: () => {
          throw new Error('boom')
        },
        reason: /^first: .*"onTest" failed: boom/,
      },
      { handler: () => Promise.reject(new Error('boom')), reason: /^first: .*"onTest" failed: boom/ },
      { handler: never, reason: /^first: .*"onTest" did not finish within 2 ms/ },
    ]
    for (const { handler, reason } of broken) {
      const { bus, slot, lines } = busWith<Hook>('gate', { timeoutMs: 2 })
      bus.on('first', 'onTest', handler)
      const verdict = await slot.call('emails')
      assert.ok(verdict.denied)
      assert.equal(verdict.plugin, 'first')
      assert.match(verdict.reason, reason)
      assert.equal(verdict.error?.status, handler === never ? 503 : undefined)
      assert.deepEqual(
        lines.map(({ level, plugin, hook }) => [level, plugin, hook]),
        [['error', 'first', 'onTest']],
      )
    }
  })

  it('stays closed on every result that is neither a denial nor undefined', async () => {
    for (const answer of [true, false, null, 'no', { denied: false }, { denied: true }]) {
      const { bus, slot } = busWith<Hook>('gate')
      bus.on('first', 'onTest', () => answer)
      const verdict = await slot.call('emails')
      assert.ok(verdict.denied, `answer ${JSON.stringify(answer)} opened the gate`)
      assert.match(verdict.reason, /must return deny\(reason\) or nothing/)
    }
  })

  it('is never muted, however often a listener fails', async () => {
    const { bus, slot, listener } = busWith<Hook>('gate')
    bus.on('first', 'onTest', () => {
      throw new Error('boom')
    })
    for (let call = 0; call < 60; call++) assert.ok((await slot.call('emails')).denied)
    assert.equal(listener().calls, 60)
    assert.equal(listener().muted, false)
  })
})
