import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Lanes } from './lanes.js'
import { pluginScope, type Scope } from './scope.js'

const callerOf = (id: string): Scope => ({ ...pluginScope('test'), actor: { kind: 'key', id, via: 'http' } })

test('a caller runs three reads at once, the rest in turn, and other callers do not wait', async () => {
  const lanes = new Lanes()
  const begun: string[] = []
  const ends: (() => void)[] = []
  const read = (scope: Scope, name: string) =>
    lanes.run(scope, async () => {
      begun.push(name)
      await new Promise<void>((resolve) => void ends.push(resolve))
      return name
    })
  const [ann, bob, plugin] = [callerOf('ann'), callerOf('bob'), pluginScope('app')]
  const all = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => read(ann, name))
  all.push(read(bob, 'b1'), ...['p1', 'p2', 'p3', 'p4'].map((name) => read(plugin, name)))
  await turn()
  assert.deepEqual(begun, ['a1', 'a2', 'a3', 'b1', 'p1', 'p2', 'p3', 'p4'])
  ends[0]?.()
  await turn()
  assert.equal(begun.at(-1), 'a4')
  while (begun.length < all.length) {
    for (const end of ends) end()
    await turn()
  }
  for (const end of ends) end()
  assert.equal((await Promise.all(all)).length, 10)
})

test('a caller with too many waiting reads is refused, and a read that fails passes its place on', async () => {
  const lanes = new Lanes()
  const scope = callerOf('ann')
  let fail = (): void => undefined
  const failing = new Promise<never>((_resolve, reject) => (fail = () => reject(new Error('store down'))))
  const reads = Array.from({ length: 103 }, () => lanes.run(scope, () => failing))
  const settled = Promise.allSettled(reads)
  await assert.rejects(
    lanes.run(scope, async () => 1),
    { code: 'MONITOR_BUSY', status: 429 },
  )
  fail()
  assert.ok((await settled).every(({ status }) => status === 'rejected'))
  assert.equal(await lanes.run(scope, async () => 2), 2)
})
