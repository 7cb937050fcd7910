import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ServiceState } from '../contract.js'
import type { InstanceState } from './instance.js'
import { StateFeed } from './state-feed.js'

function feedOf(...services: readonly string[]) {
  const sent: (readonly InstanceState[])[] = []
  const waiting: (() => void)[] = []
  const feed = new StateFeed(new Set(services), (states, done) => {
    sent.push(states)
    waiting.push(done)
  })
  return { feed, sent, leave: () => waiting.shift()?.() }
}

const stateOf = (service: string, number: number, state: ServiceState, starts = 1): InstanceState => {
  return { service, instance: `${service}-${number}`, state, starts }
}

describe('the states of instances sent to a child', () => {
  it('are only those of services that it can call', () => {
    const { feed, sent } = feedOf('users')
    feed.changed(stateOf('orders', 1, 'running'))
    assert.deepEqual(sent, [])
    feed.changed(stateOf('users', 1, 'running'))
    assert.deepEqual(sent, [[stateOf('users', 1, 'running')]])
  })

  it('are sent with each change; while the child does not read, only the newest of each instance is kept', () => {
    const { feed, leave, sent } = feedOf('users')
    feed.changed(stateOf('users', 1, 'unhealthy'))
    for (let starts = 1; starts <= 1000; starts++) {
      feed.changed(stateOf('users', 1, 'starting', starts))
      feed.changed(stateOf('users', 1, 'running', starts))
      feed.changed(stateOf('users', 2, 'unhealthy'))
    }
    assert.equal(sent.length, 1)
    leave()
    assert.deepEqual(sent.slice(1), [[stateOf('users', 1, 'running', 1000), stateOf('users', 2, 'unhealthy')]])
    leave()
    assert.equal(sent.length, 2)
    feed.changed(stateOf('users', 2, 'running'))
    assert.deepEqual(sent.at(-1), [stateOf('users', 2, 'running')])
  })
})
