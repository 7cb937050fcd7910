import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Circuit } from './circuit.js'

const rules = { minimumCalls: 20, failureRatio: 0.5, connectFailures: 5, openMs: 5000, maxOpenMs: 60_000 }

function opened(): Circuit {
  const circuit = new Circuit(rules)
  for (let call = 0; call < 5; call++) circuit.end('connect-failed', 0, 1)
  return circuit
}

describe('Circuit', () => {
  it('opens at half of 20 calls within 10 s', () => {
    const circuit = new Circuit(rules)
    for (let call = 0; call < 10; call++) circuit.end('ok', 1000, 1)
    for (let call = 0; call < 9; call++) assert.equal(circuit.end('failed', 2000, 1), undefined)
    assert.deepEqual(circuit.end('failed', 2000, 1), { from: 'closed', to: 'open', reason: '10 of 20 calls within 10 s failed' })
  })

  it('forgets calls after 10 s', () => {
    const circuit = new Circuit(rules)
    for (let call = 0; call < 19; call++) circuit.end('failed', 0, 1)
    assert.equal(circuit.end('failed', 10_000, 1), undefined)
    assert.equal(circuit.state, 'closed')
  })

  it('opens after five failed connections in a row, but not if a call succeeds in between', () => {
    const circuit = new Circuit(rules)
    for (let call = 0; call < 4; call++) circuit.end('connect-failed', 0, 1)
    circuit.end('ok', 0, 1)
    for (let call = 0; call < 4; call++) circuit.end('connect-failed', 0, 1)
    assert.equal(circuit.state, 'closed')
    circuit.end('connect-failed', 0, 1)
    assert.equal(circuit.state, 'open')
  })

  it('blocks for 5 s, allows exactly one probe, and doubles the period each time it fails, up to a minute', () => {
    const circuit = opened()
    let now = 0
    for (const ms of [5000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
      assert.equal(circuit.blockedMs(now), ms)
      now += ms
      assert.equal(circuit.blockedMs(now), 0)
      assert.equal(circuit.begin()?.to, 'half-open')
      assert.equal(circuit.blockedMs(now), Number.POSITIVE_INFINITY)
      assert.equal(circuit.end('failed', now, 1, true)?.to, 'open')
    }
  })

  it('closes when the probe succeeds, and starts again with 5 s', () => {
    const circuit = opened()
    circuit.begin()
    assert.equal(circuit.end('ok', 5000, 1, true)?.to, 'closed')
    for (let call = 0; call < 5; call++) circuit.end('connect-failed', 5000, 1)
    assert.equal(circuit.blockedMs(5000), 5000)
  })

  it('ignores calls that began before it opened, also while the probe is in flight', () => {
    const circuit = opened()
    assert.equal(circuit.end('ok', 1, 1), undefined)
    assert.equal(circuit.state, 'open')
    circuit.begin()
    for (const outcome of ['ok', 'failed'] as const) assert.equal(circuit.end(outcome, 5000, 1), undefined)
    assert.equal(circuit.blockedMs(5000), Number.POSITIVE_INFINITY)
    assert.equal(circuit.end('ok', 5001, 1, true)?.to, 'closed')
  })
})
