import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ZinError } from '../errors.js'
import type { Collect } from './kinds.js'
import { testKind } from './test-kind.js'
import { busWith, never } from './tester.js'

type Hook = Collect<[], number>

testKind('collect')

describe('a collect hook', () => {
  it('maps each plugin to its value, and numbers further listeners of one plugin', async () => {
    const { bus, slot } = busWith<Hook>('collect')
    bus.on('first', 'onTest', () => 1)
    bus.on('second', 'onTest', async () => 2)
    bus.on('first', 'onTest', () => 3)
    bus.on('first', 'onTest', () => 4)
    assert.deepEqual(
      [...(await slot.call())],
      [
        ['first', 1],
        ['first#2', 3],
        ['first#3', 4],
        ['second', 2],
      ],
    )
  })

  it('returns an error as the result of that plugin only', async () => {
    const { bus, slot } = busWith<Hook>('collect')
    const thrown = new Error('no connection')
    bus.on('first', 'onTest', () => {
      throw thrown
    })
    bus.on('second', 'onTest', { handler: never as () => Promise<number>, timeoutMs: 2 })
    bus.on('third', 'onTest', () => 3)
    const answers = await slot.call()
    assert.equal(answers.get('first'), thrown)
    assert.equal((answers.get('second') as ZinError).code, 'ZIN_HOOK_TIMEOUT')
    assert.equal(answers.get('third'), 3)
  })

  it('converts a thrown value that is not an error', async () => {
    const { bus, slot } = busWith<Hook>('collect')
    bus.on('first', 'onTest', () => Promise.reject('just text'))
    const answer = (await slot.call()).get('first')
    assert.ok(answer instanceof Error)
    assert.equal(answer.message, 'just text')
  })

  it('returns an empty map without listeners', async () => {
    assert.equal((await busWith<Hook>('collect').slot.call()).size, 0)
  })
})
