import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { MetricSample } from 'zin'
import { parseMetrics } from '../testing/parse-metrics.js'
import { gather } from './families.js'
import { SeriesLimit } from './limit.js'
import { render } from './render.js'
import { SeriesCounter, SeriesHistogram } from './series.js'

const good: MetricSample = { name: 'shop_orders_total', help: 'Orders', type: 'counter', value: 3, labels: { country: 'nl' } }
const histogram: MetricSample = { name: 'shop_seconds', help: 'Time', type: 'histogram', bounds: [0.1, 1], counts: [1, 2, 3], sum: 9 }

const problemsOf = (...samples: readonly unknown[]): readonly string[] =>
  gather(new Map([['shop', samples]])).refusals.map(({ problem }) => problem)

describe('gather', () => {
  it('sorts metrics by name, and keeps the samples of one together', () => {
    const { families, refusals } = gather(
      new Map<string, unknown>([
        ['shop', [histogram, good]],
        ['other#2', [{ ...good, labels: { country: 'de' } }]],
      ]),
    )
    assert.deepEqual(
      [families.map(({ name, samples }) => [name, samples.length]), refusals],
      [
        [
          ['shop_orders_total', 2],
          ['shop_seconds', 1],
        ],
        [],
      ],
    )
  })

  const wrong: Readonly<Record<string, readonly [given: unknown, problem: RegExp]>> = {
    'a value that is no number': [{ ...good, value: Number.NaN }, /value of "shop_orders_total" is NaN/],
    'an infinite value': [{ ...good, type: 'gauge', name: 'shop_depth', value: Number.POSITIVE_INFINITY }, /is Infinity/],
    'a negative counter': [{ ...good, value: -1 }, /below 0/],
    'a counter without _total': [{ ...good, name: 'shop_orders' }, /does not end in "_total"/],
    'a gauge with _total': [{ ...good, type: 'gauge' }, /the gauge "shop_orders_total" ends in "_total"/],
    'a name with a dash': [{ ...good, name: 'shop-orders_total' }, /is not 1 to 200 letters/],
    'a name with a line break': [{ ...good, name: 'a_total\n# TYPE x gauge' }, /is not 1 to 200 letters/],
    'a name that a histogram uses': [{ ...good, type: 'gauge', name: 'shop_count' }, /ends in "_count"/],
    'no help': [{ ...good, help: '' }, /no help/],
    'an unknown type': [{ ...good, type: 'summary' }, /has the type "summary"/],
    'a label with a dash': [{ ...good, labels: { 'a-b': 'x' } }, /the label "a-b"/],
    'a label of a number': [{ ...good, labels: { code: 200 } }, /the label "code" of "shop_orders_total" is 200, not a string/],
    'a histogram with le': [{ ...histogram, labels: { le: '1' } }, /a label "le"/],
    'a label of summaries': [{ ...good, labels: { quantile: '0.5' } }, /a label "quantile"/],
    'bounds that fall': [{ ...histogram, bounds: [1, 0.1] }, /rising numbers/],
    'too few counts': [{ ...histogram, counts: [1, 2] }, /one more count than bounds/],
    'a broken count': [{ ...histogram, counts: [1, 2, -3] }, /not a non-negative integer/],
    nothing: [null, /not an object/],
    'something that throws': [
      {
        get name() {
          throw new Error('no')
        },
      },
      /reading a sample throws/,
    ],
  }
  for (const [what, [given, problem]] of Object.entries(wrong)) {
    it(`leaves out ${what}, reports why, and keeps the rest`, () => {
      const { families, refusals } = gather(new Map([['shop', [given, { ...good, labels: { country: 'be' } }]]]))
      assert.deepEqual(
        families.map(({ name }) => name),
        ['shop_orders_total'],
      )
      assert.match(refusals[0]?.problem ?? '', problem)
    })
  }

  it('leaves out samples that contradict earlier ones', () => {
    assert.match(problemsOf(good, good)[0] ?? '', /same labels/)
    assert.match(
      problemsOf(good, { ...good, labels: { shop: 'x' } })[0] ?? '',
      /has the labels \(shop\), but was reported earlier with \(country\)/,
    )
    assert.match(problemsOf(good, { ...good, help: 'Else', labels: { country: 'be' } })[0] ?? '', /a different help/)
    assert.match(problemsOf(histogram, { ...histogram, bounds: [1, 2], labels: {} })[0] ?? '', /different bounds/)
    const clash = gather(
      new Map<string, unknown>([
        ['shop', [histogram]],
        ['evil', [{ name: 'shop_seconds', help: 'x', type: 'gauge', value: 1 }]],
      ]),
    )
    assert.deepEqual(clash.refusals, [
      { plugin: 'evil', problem: 'the gauge "shop_seconds" was reported by the plugin "shop" as a histogram' },
    ])
  })

  it('names a plugin whose listener failed, and one that does not return a list', () => {
    const { refusals } = gather(
      new Map<string, unknown>([
        ['slow', new Error('too late')],
        ['odd', 'text'],
      ]),
    )
    assert.deepEqual(
      refusals.map(({ plugin, problem }) => `${plugin}: ${problem}`),
      ['slow: it failed: too late', 'odd: it did not return a list'],
    )
  })
})

describe('render', () => {
  const hostile = { ...good, help: 'Back\\slash\nand line', labels: { country: 'a"b\\c\nd\ud800' } }
  const { families } = gather(new Map([['shop', [hostile, histogram]]]))

  it('escapes special characters, and writes cumulative buckets', async () => {
    const { body, contentType } = await render(families, '')
    assert.match(contentType, /^text\/plain; version=0\.0\.4/)
    const parsed = parseMetrics(body, 'text')
    assert.equal(parsed.get('shop_orders_total')?.samples[0]?.labels.country, 'a"b\\c\nd\ufffd')
    assert.deepEqual(
      parsed.get('shop_seconds')?.samples.map(({ labels, value }) => [labels.le, value]),
      [
        ['0.1', 1],
        ['1.0', 3],
        ['+Inf', 6],
        [undefined, 9],
        [undefined, 6],
      ],
    )
  })

  it('writes OpenMetrics with exemplars on request', async () => {
    const times = new SeriesHistogram({ name: 'shop_seconds', help: 'Time', labels: ['route'], bounds: [0.1, 1] })
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    times.observe(['/x'], 0.5, { traceId, at: 1_700_000_000_500 })
    times.observe(['/x'], 7)
    const { body, contentType } = await render(
      gather(new Map([['shop', [good, ...times.samples()]]])).families,
      'application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5',
    )
    assert.match(contentType, /^application\/openmetrics-text; version=1\.0\.0/)
    const parsed = parseMetrics(body, 'openmetrics')
    assert.deepEqual(
      parsed.get('shop_seconds')?.samples.map((sample) => sample.traceId),
      [undefined, traceId, undefined, undefined, undefined],
    )
    assert.equal(parsed.get('shop_orders')?.samples[0]?.name, 'shop_orders_total')
    assert.match(body, /# \{trace_id="4bf92f3577b34da6a3ce929d0e0e4736"\} 0\.5 1700000000\.5\n/)
  })
})

describe('series', () => {
  it('counts series beyond the limit as other, and loses nothing', () => {
    const counter = new SeriesCounter({ name: 'a_total', help: 'A', labels: ['path', 'code'], maxSeries: 10 })
    for (let n = 0; n < 10_000; n++) counter.add([`/${n}`, '200'])
    const samples = counter.samples()
    assert.equal(samples.length, 11)
    assert.equal(samples.find(({ labels }) => labels?.path === 'other')?.value, 9990)
  })

  it('does not confuse series', () => {
    const counter = new SeriesCounter({ name: 'a_total', help: 'A', labels: ['x', 'y'] })
    counter.add(['a', 'b,c'])
    counter.add(['a,b', 'c'])
    counter.add(['a', 'b,c'])
    const values = counter.samples().map(({ labels, value }) => [labels?.x, labels?.y, value])
    assert.deepEqual(values, [
      ['a', 'b,c', 2],
      ['a,b', 'c', 1],
    ])
  })

  it('counts without labels', () => {
    const counter = new SeriesCounter({ name: 'a_total', help: 'A', labels: [] })
    counter.add([])
    counter.add([], 2)
    assert.deepEqual(
      counter.samples().map(({ labels, value }) => [labels, value]),
      [[{}, 3]],
    )
  })

  it('limits the series that plugins report; an included series stays included', () => {
    const limit = new SeriesLimit(2)
    const family = (names: readonly string[], type: 'counter' | 'gauge') => {
      const samples = names.map((queue, value): MetricSample => ({ name: 'q', help: 'Q', type, value, labels: { queue } }))
      return [{ name: 'q', help: 'Q', type, samples }]
    }
    const shown = (names: readonly string[], type: 'counter' | 'gauge') =>
      limit.apply(family(names, type))[0]?.samples.map((sample) => [sample.labels?.queue, 'value' in sample && sample.value])
    assert.deepEqual(shown(['a', 'b', 'c', 'd'], 'counter'), [
      ['a', 0],
      ['b', 1],
      ['other', 5],
    ])
    assert.deepEqual(shown(['c', 'd', 'a', 'b'], 'gauge'), [
      ['a', 2],
      ['b', 3],
      ['other', 1],
    ])
  })
})
