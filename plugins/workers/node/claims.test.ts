import assert from 'node:assert/strict'
import { it } from 'node:test'
import { systemClock } from 'zin'
import { MemoryHub } from 'zin/plugins/cluster'
import { eventually } from '../../../scripts/testing/eventually.js'
import { localState } from '../testing/helpers.js'
import { Claims } from './claims.js'

const worker = { id: 'a', name: 'mail' }

/** Two nodes of one cluster, with the workers that each had to reconsider. */
async function pair() {
  const hub = new MemoryHub()
  const nodes = await Promise.all(
    ['one', 'two'].map(async (node) => {
      const { cluster } = localState({ clock: systemClock, node, hub })
      await cluster.open()
      const changed: string[] = []
      return { cluster, changed, claims: new Claims(cluster, (name) => changed.push(name)) }
    }),
  )
  return nodes as [(typeof nodes)[number], (typeof nodes)[number]]
}

it('one node holds the claim to a worker, and the next one gets it when the first gives it back', async () => {
  const [one, two] = await pair()
  assert.deepEqual([await one.claims.take(worker), await two.claims.take(worker)], [true, false])
  assert.deepEqual([one.claims.holds('a'), two.claims.holds('a'), two.claims.has('a')], [true, false, true])
  await one.claims.release('a')
  await eventually('the other one has it', () => two.claims.holds('a'))
  assert.deepEqual([one.changed, two.changed, one.claims.has('a')], [[], ['mail'], false])
  assert.equal(await one.claims.take(worker), false)
  await Promise.all([one.cluster.close(), two.cluster.close()])
})

it('a claim is lost with the node, and its node must reconsider the worker', async () => {
  const [one, two] = await pair()
  await one.claims.take(worker)
  await two.claims.take(worker)
  await one.cluster.close()
  await eventually('the other one has it', () => two.claims.holds('a'))
  assert.deepEqual([one.changed, two.changed, one.claims.holds('a')], [['mail'], ['mail'], false])
  await two.cluster.close()
})

it('a node that leaves takes nothing more, and keeps what it holds until its worker has stopped', async () => {
  const [one, two] = await pair()
  await one.claims.take(worker)
  await two.claims.take({ id: 'b', name: 'other' })
  await one.claims.take({ id: 'b', name: 'other' })
  await one.claims.close()
  assert.deepEqual([one.claims.holds('a'), one.claims.has('b'), await one.claims.take({ id: 'c', name: 'third' })], [true, false, false])
  await one.claims.release('a')
  assert.equal(await two.claims.take(worker), true)
  await Promise.all([one.cluster.close(), two.cluster.close()])
})

it('a node that is the only one claims nothing', async () => {
  const claims = new Claims(undefined, () => assert.fail('nothing changes'))
  assert.deepEqual([await claims.take(worker), claims.holds('a'), claims.has('a')], [true, true, false])
  await claims.release('a')
})
