import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Gate } from './gate.js'

/** Tasks that run until the test ends them. */
function setUp(limit: number, waiting: number) {
  const gate = new Gate(limit, waiting, () => new Error('full'))
  const running = new Map<string, () => void>()
  const begin = (name: string) => gate.run(() => new Promise<string>((resolve) => running.set(name, () => resolve(name))))
  const end = async (name: string): Promise<void> => {
    running.get(name)?.()
    running.delete(name)
    await new Promise(setImmediate)
  }
  return { gate, running, begin, end }
}

describe('a gate', () => {
  it('runs a limited number of tasks at a time, and the others strictly in order', async () => {
    const { running, begin, end } = setUp(2, 10)
    const results = ['a', 'b', 'c', 'd'].map(begin)
    assert.deepEqual([...running.keys()], ['a', 'b'])
    await end('a')
    assert.deepEqual([...running.keys()], ['b', 'c'])
    results.push(begin('e'))
    assert.deepEqual([...running.keys()], ['b', 'c'])
    for (const name of ['b', 'c', 'd', 'e']) await end(name)
    assert.deepEqual(await Promise.all(results), ['a', 'b', 'c', 'd', 'e'])
    results.push(begin('f'), begin('g'))
    assert.deepEqual([...running.keys()], ['f', 'g'])
    for (const name of ['f', 'g']) await end(name)
  })

  it('refuses a task when too many are waiting', async () => {
    const { begin, end } = setUp(1, 1)
    const results = [begin('a'), begin('b')]
    await assert.rejects(begin('c'), { message: 'full' })
    for (const name of ['a', 'b']) await end(name)
    await Promise.all(results)
  })

  it('frees its slot when a task fails', async () => {
    const { gate, running, begin, end } = setUp(1, 1)
    await assert.rejects(
      gate.run(() => Promise.reject(new Error('broken'))),
      { message: 'broken' },
    )
    const next = begin('a')
    assert.deepEqual([...running.keys()], ['a'])
    await end('a')
    await next
  })
})
