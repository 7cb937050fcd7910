import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isSampled, newTrace, readTrace, traceHeaders } from './trace.js'

const id = '4bf92f3577b34da6a3ce929d0e0e4736'
const parent = '00f067aa0ba902b7'

describe('readTrace', () => {
  it('reads a traceparent and its tracestate', () => {
    const trace = readTrace({ traceparent: `00-${id}-${parent}-01`, tracestate: 'a=1,b@c=2' }, 0)
    assert.deepEqual([trace?.traceId, trace?.parentId, trace?.sampled, trace?.state], [id, parent, true, 'a=1,b@c=2'])
    assert.match(trace?.spanId ?? '', /^[0-9a-f]{16}$/)
  })

  it('reads a later version with more fields', () => assert.equal(readTrace({ traceparent: `01-${id}-${parent}-00-x` }, 1)?.traceId, id))

  const malformed = [
    `00-${'0'.repeat(32)}-${parent}-01`,
    `00-${id}-${'0'.repeat(16)}-01`,
    `ff-${id}-${parent}-01`,
    `00-${id.toUpperCase()}-${parent}-01`,
    `00-${id}-${parent}-01-x`,
    `00-${id}-${parent}`,
    'x',
  ]
  for (const traceparent of malformed) it(`refuses ${traceparent}`, () => assert.equal(readTrace({ traceparent }, 1), undefined))

  it('drops a malformed or too long tracestate entirely', () => {
    for (const tracestate of ['a=1,,b', 'A=1', `a=${'x'.repeat(520)}`, Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(',')])
      assert.equal(readTrace({ traceparent: `00-${id}-${parent}-01`, tracestate }, 1)?.state, undefined)
  })

  it('accepts x-trace-id, and keeps one of another form next to a generated id', () => {
    assert.equal(readTrace({ 'x-trace-id': id }, 1)?.traceId, id)
    const foreign = readTrace({ 'x-trace-id': '1700000000-abc' }, 1)
    assert.equal(foreign?.foreignId, '1700000000-abc')
    assert.equal(foreign && traceHeaders(foreign)['x-trace-id'], '1700000000-abc')
    assert.equal(readTrace({ 'x-trace-id': 'a b' }, 1), undefined)
  })
})

describe('sampling', () => {
  it('is decided from the trace id, so that every service makes the same decision', () => {
    const traces = Array.from({ length: 2000 }, () => newTrace(0.25))
    const sampled = traces.filter((trace) => trace.sampled).length
    assert.ok(sampled > 300 && sampled < 700, `${sampled} of 2000`)
    for (const trace of traces) assert.equal(trace.sampled, isSampled(trace.traceId, 0.25))
    assert.ok(traces.every((trace) => isSampled(trace.traceId, 1) && !isSampled(trace.traceId, 0)))
  })
})
