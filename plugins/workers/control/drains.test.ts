import assert from 'node:assert/strict'
import { it } from 'node:test'
import { MemoryHub } from 'zin/plugins/cluster'
import { fakeClock } from 'zin/testing'
import { eventually } from '../../../scripts/testing/eventually.js'
import type { WorkerMessage } from '../shared/contract.js'
import { localState } from '../testing/helpers.js'
import { Drains } from './drains.js'

async function scene() {
  const clock = fakeClock()
  const hub = new MemoryHub()
  const [here, other] = [localState({ clock, hub }), localState({ clock, hub, node: 'other' })]
  await Promise.all([here.cluster.open(), other.cluster.open()])
  const actions: string[] = []
  const drains = new Drains({
    shared: here.shared,
    clock,
    manage: async ({ action, target }, work) => {
      actions.push(`${action} ${target}`)
      return work(() => undefined)
    },
  })
  const close = () => Promise.all([here.cluster.close(), other.cluster.close()])
  return { actions, clock, close, drains, other }
}

it('a node that follows drains, and takes jobs again', async () => {
  const { actions, close, drains, other } = await scene()
  other.shared.listen((message) => {
    if (message.kind === 'drain' && message.node === 'other') void other.shared.describe({ draining: message.draining })
  })
  assert.equal((await drains.set('other', true)).draining, true)
  assert.equal((await drains.set('other', false)).draining, false)
  assert.deepEqual(actions, ['node.drain node:other', 'node.undrain node:other'])
  await close()
})

it('a node that does not drain is told so all the same, because it may be about to publish that it does', async () => {
  const { close, drains, other } = await scene()
  const asked: WorkerMessage[] = []
  other.shared.listen((message) => asked.push(message))
  assert.equal((await drains.set('other', false)).draining, false)
  await eventually('it is told', () => asked.some((message) => message.kind === 'drain' && !message.draining))
  await close()
})

it('a node that does not follow in time is NODE_NOT_ANSWERING, and one that has ended NODE_NOT_FOUND', async () => {
  const { actions, clock, close, drains, other } = await scene()
  const asked: WorkerMessage[] = []
  other.shared.listen((message) => asked.push(message))
  const answer = assert.rejects(drains.set('other', true), { code: 'NODE_NOT_ANSWERING', status: 503 })
  await eventually('it is asked', () => asked.length > 0)
  clock.advance(5_001)
  await answer
  clock.advance(15_001)
  await assert.rejects(drains.set('other', true), { code: 'NODE_NOT_FOUND', status: 404 })
  await assert.rejects(drains.set('nobody', true), { code: 'NODE_NOT_FOUND', status: 404 })
  assert.deepEqual(actions, ['node.drain node:other'])
  await close()
})
