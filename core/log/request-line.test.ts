import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import fc from '../../scripts/testing/properties.js'
import { createLogger } from './logger.js'
import { type RequestFacts, requestLogOf } from './request-line.js'

function lines(format: 'json' | 'text'): { readonly log: ReturnType<typeof createLogger>; take(): readonly string[] } {
  const written: string[] = []
  const destination = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      written.push(chunk)
      done()
    },
  })
  const log = createLogger({ level: 'debug', channel: 'memory', format, name: 'shop "1"', destination })
  return { log, take: () => written.splice(0) }
}

const secret = fc.constantFrom(
  '/reset?token=abcdef',
  '/x/eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl',
  '/go/http://user:pass@host/',
  '/Bearer%20abcdefghijklmnop',
)
const path = fc.oneof(fc.webPath(), secret, fc.string(), fc.constant('/a"b\\c'))
const id = fc.oneof(fc.uuid(), fc.constantFrom('eyJhbGciOi.eyJzdWIiOi.c2ln', 'trace-1234_5.6'))
const facts: fc.Arbitrary<RequestFacts> = fc.record({
  requestId: id,
  clientRequestId: fc.option(id, { nil: undefined }),
  trace_id: fc.option(fc.constant('4bf92f3577b34da6a3ce929d0e0e4736'), { nil: undefined }),
  method: fc.constantFrom('GET', 'POST', 'M-SEARCH'),
  path,
  status: fc.integer({ min: 100, max: 599 }),
  sentStatus: fc.option(fc.integer({ min: 100, max: 599 }), { nil: undefined }),
  ms: fc.nat(),
  bytes: fc.option(fc.nat(), { nil: undefined }),
  complete: fc.boolean(),
})

const withoutTime = (line: string): string => line.replace(/"time":"[^"]{24}"/, '').replace(/^\[[\d:.]{12}\]/, '')

for (const format of ['json', 'text'] as const) {
  test(`the line of a request is what the logger would write, in ${format}`, () => {
    const { log, take } = lines(format)
    fc.assert(
      fc.property(fc.constantFrom('info', 'debug'), facts, (level, given) => {
        requestLogOf(log)?.(level, given)
        log[level](given, 'request')
        const [fast = '', ordinary = ''] = take()
        assert.equal(withoutTime(fast), withoutTime(ordinary))
        assert.notEqual(withoutTime(fast), fast)
      }),
    )
  })
}

test('the line of a request has its time, in both formats', () => {
  const json = lines('json')
  const before = Date.now()
  requestLogOf(json.log)?.('info', fc.sample(facts, { seed: 1, numRuns: 1 })[0] as RequestFacts)
  const { time } = JSON.parse(json.take()[0] ?? '') as { readonly time: string }
  assert.ok(Date.parse(time) >= before && Date.parse(time) <= Date.now(), time)
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

test('a logger with further fields writes them, and a child or a closed log writes no line of its own', async () => {
  const { log, take } = lines('json')
  const [given] = fc.sample(facts, { seed: 2, numRuns: 1 }) as [RequestFacts]
  const remove = log.addFields?.(() => ({ span: 'abc' }))
  requestLogOf(log)?.('info', given)
  assert.match(take()[0] ?? '', /"span":"abc"/)
  remove?.()
  assert.equal(requestLogOf(log.child({ plugin: 'x' })), undefined)
  await log.close()
  requestLogOf(log)?.('info', given)
  assert.deepEqual(take(), [''])
})
