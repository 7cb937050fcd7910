import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { it } from 'node:test'
import { StartLanes } from './start-lanes.js'

it('a start that waits for a lane ends at once when it is aborted, and its place goes to the next', async () => {
  const lanes = new StartLanes(1)
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const started: string[] = []
  const lasting = new AbortController().signal
  const first = lanes.run(() => held, lasting)
  const closing = new AbortController()
  const aborted = lanes.run(async () => void started.push('aborted'), closing.signal)
  const next = lanes.run(async () => void started.push('next'), lasting)

  closing.abort(new Error('the worker closes'))
  // The lane is still taken: a wait for it would last until the test times out.
  await assert.rejects(aborted, /the worker closes/)
  await assert.rejects(
    lanes.run(async () => void started.push('late'), closing.signal),
    /the worker closes/,
  )
  assert.equal(started.length, 0)

  release()
  await Promise.all([first, next])
  assert.deepEqual([...started], ['next'])
  await lanes.run(async () => void started.push('last'), lasting)
  assert.equal(started.at(-1), 'last')
  assert.deepEqual(
    [lasting, closing.signal].map((signal) => getEventListeners(signal, 'abort').length),
    [0, 0],
  )
})

it('a start that is aborted just after it got a lane does not begin, and passes the lane on', async () => {
  const lanes = new StartLanes(1)
  const lasting = new AbortController().signal
  const closing = new AbortController()
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const first = lanes.run(() => held, lasting)
  const aborted = lanes.run(async () => assert.fail('it was aborted'), closing.signal)
  const rejected = assert.rejects(aborted, /too late/)
  // Runs after the first start has passed its lane on, and before the second one notices.
  void held.then(() => closing.abort(new Error('too late')))
  release()
  await Promise.all([first, rejected])
  assert.equal(await lanes.run(async () => 'free', lasting), 'free')
})
