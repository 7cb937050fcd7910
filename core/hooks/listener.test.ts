import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AnyListener, Listener } from './listener.js'

const handler = (): void => {}

describe('a listener', () => {
  it('accepts a plain function, with the defaults', () => {
    const listener = new Listener('audit', 'onTest', handler, 0)
    assert.equal(listener.handler, handler)
    assert.deepEqual([listener.order, listener.sequential, listener.maxPending, listener.ownTimeoutMs], ['normal', false, 1000, undefined])
  })

  it('refuses non-functions and invalid options, naming the plugin, the hook and the option', () => {
    const malformed: [unknown, RegExp][] = [
      [undefined, /must be a function/],
      [null, /must be a function/],
      ['text', /must be a function/],
      [{}, /must be a function/],
      [{ handler: 1 }, /must be a function/],
      [{ handler, order: 'early' }, /order "early"/],
      [{ handler, timeoutMs: 0 }, /timeoutMs 0/],
      [{ handler, timeoutMs: Number.NaN }, /timeoutMs NaN/],
      [{ handler, timeoutMs: 2 ** 31 }, /timeoutMs 2147483648/],
      [{ handler, maxPending: 0 }, /maxPending 0/],
      [{ handler, maxPending: 1.5 }, /maxPending 1.5/],
    ]
    for (const [listener, message] of malformed) {
      assert.throws(
        () => new Listener('audit', 'onTest', listener as AnyListener, 0),
        (error: Error & { code?: string }) =>
          error.code === 'ZIN_HOOK_LISTENER' && message.test(error.message) && /^audit: .*"onTest"/.test(error.message),
      )
    }
  })
})
