import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Lookup, ownLookup, readTogether } from './lookup.js'

const ofKv = (...keys: string[]): Lookup<readonly (string | null)[]> => ({ keys, read: (values) => values })

describe('reads of the stores', () => {
  it('share one round trip for all keys, and each gets the values of its own keys', async () => {
    const asked: (readonly string[])[] = []
    const kv = {
      getMany: async (keys: readonly string[]) => {
        asked.push(keys)
        return keys.map((key) => `value of ${key}`)
      },
    }
    const own = ownLookup(async () => 'row')
    assert.deepEqual(await readTogether(kv, ofKv('a'), own, ofKv('b', 'c')), [['value of a'], 'row', ['value of b', 'value of c']])
    assert.deepEqual(asked, [['a', 'b', 'c']])
  })

  it('create no promise when there is nothing to wait for', () => {
    assert.deepEqual(
      readTogether(
        undefined,
        ownLookup(() => 1),
        ownLookup(() => undefined),
      ),
      [1, undefined],
    )
  })

  it('reject once when both stores are down, and leave no rejection unhandled', async () => {
    const unheard: unknown[] = []
    const hear = (error: unknown): unknown => unheard.push(error)
    process.on('unhandledRejection', hear)
    const down = async (): Promise<never> => {
      await new Promise(setImmediate)
      throw new Error('down')
    }
    const reads = readTogether({ getMany: () => Promise.reject(new Error('kv down')) }, ofKv('a'), ownLookup(down))
    await assert.rejects(async () => reads, /kv down/)
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
    process.off('unhandledRejection', hear)
    assert.deepEqual(unheard, [])
    assert.throws(() => readTogether(undefined, ofKv('a')), /plugin kv is disabled/)
  })
})
