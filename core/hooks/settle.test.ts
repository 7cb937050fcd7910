import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ZinError } from '../errors.js'
import type { Settle } from './kinds.js'
import { testKind } from './test-kind.js'
import { busWith, never } from './tester.js'

type Hook = Settle<[worker: string]>

testKind('settle')

describe('a settle hook', () => {
  it('waits for all listeners, which run in parallel', async () => {
    const { bus, slot } = busWith<Hook>('settle')
    const ran: string[] = []
    let release = (): void => {}
    bus.on('first', 'onTest', async () => {
      await new Promise<void>((resolve) => (release = resolve))
      ran.push('first')
    })
    bus.on('second', 'onTest', async () => {
      ran.push('second')
      release()
    })
    assert.deepEqual(await slot.call('emails'), [])
    assert.deepEqual(ran, ['second', 'first'])
  })

  it('returns which listeners failed and why, and runs the others', async () => {
    const { bus, slot } = busWith<Hook>('settle')
    const cause = new Error('disk full')
    let ran = 0
    bus.on('first', 'onTest', () => {
      throw cause
    })
    bus.on('second', 'onTest', { handler: never, timeoutMs: 2 })
    bus.on('third', 'onTest', () => void ran++)
    const failures = await slot.call('emails')
    assert.equal(ran, 1)
    assert.deepEqual(
      failures.map(({ plugin, hook }) => [plugin, hook]),
      [
        ['first', 'onTest'],
        ['second', 'onTest'],
      ],
    )
    const [failed, late] = failures.map(({ error }) => error)
    assert.ok(failed instanceof ZinError && late instanceof ZinError)
    assert.equal(failed.code, 'ZIN_HOOK_FAILED')
    assert.equal(failed.cause, cause)
    assert.deepEqual(failed.details, { plugin: 'first', hook: 'onTest' })
    assert.match(failed.message, /^first: .*"onTest".*disk full/)
    assert.equal(late.code, 'ZIN_HOOK_TIMEOUT')
    assert.match(late.message, /^second: .*"onTest".*2 ms/)
  })
})
