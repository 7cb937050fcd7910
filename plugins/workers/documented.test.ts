import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Ajv } from 'ajv'
import ajvFormats from 'ajv-formats'
import { documented } from './documented.js'
import { flowProblems } from './jobs/flow-plan.js'
import { jobProblems } from './jobs/job-plan.js'
import { scheduleProblems } from './jobs/schedule-plan.js'
import { problemsOf, updateProblems, versionProblems } from './record/checks.js'

const ajv = ajvFormats.default(new Ajv({ strict: false }))
const worker = { name: 'email-sender', queueName: 'emails' }
const changes: readonly object[] = [
  ...[0, 1, 1000, 1001, 1.5, '5'].map((concurrency) => ({ concurrency })),
  ...[true, null, 1].map((autoStart) => ({ autoStart })),
  ...[true, null].map((activeStatus) => ({ activeStatus })),
  ...[{ metrics: true }, { metrics: 1 }, ['metrics']].map((features) => ({ features })),
  ...[null, { max: 1, duration: 1 }, { max: 0, duration: 1 }, { max: 1 }, { max: 1, duration: 1, x: 1 }].map((rateLimit) => ({
    rateLimit,
  })),
  ...[
    {},
    { attempts: 100 },
    { attempts: 101 },
    { backoff: { type: 'fixed', delay: 0 } },
    { backoff: { type: 'magic', delay: 0 } },
    ...[{ max: 1 }, { max: 0 }, { max: 1.5 }, { jitter: 0.5 }, { jitter: 2 }, { base: 2 }].map((more) => ({
      backoff: { type: 'exponential', delay: 1, ...more },
    })),
    { timeout: 0 },
  ].map((jobOptions) => ({ jobOptions })),
  ...['inline', 'process', 'vm'].map((isolation) => ({ isolation })),
  ...[
    { nodes: 'all' },
    { nodes: 1000 },
    { nodes: 0 },
    { regions: ['eu-west-1'] },
    { regions: [] },
    { regions: ['EU'] },
    { selector: {} },
  ].map((placement) => ({ placement })),
  ...['abc', 'a b', ''].map((queueName) => ({ queueName })),
  { colour: 'red' },
]
const infrastructures: readonly object[] = [
  { driver: 'redis', redis: { env: true }, persistence: { driver: 'db', table: 'zin_workers' } },
  { driver: 'amqp' },
  { redis: { host: 'x' } },
  { persistence: { driver: 'postgres' } },
  { persistence: { table: 'a`b' } },
]
const options: readonly object[] = [
  {},
  ...['Critical', 0, 10, 11, 'urgent'].map((priority) => ({ priority })),
  ...[0, 1, 86_400_001].map((timeout) => ({ timeout })),
  ...[
    ...[{ id: 'a' }, { id: '' }, { id: 'a', ttl: 0 }, { id: 'a', mode: 'never' }, { id: 'a', mode: 'keep-latest' }],
    ...[
      { id: 'a', mode: 'until-done', ttl: 5 },
      { id: 'a', mode: 'debounce' },
      { id: 'a', mode: 'debounce', ttl: 5 },
    ],
  ].map((deduplication) => ({ deduplication })),
  ...['x', ''].map((name) => ({ name })),
  { delay: -1 },
  { colour: 1 },
]

/** Compares what the OpenAPI document allows with what the service accepts, value by value. */
function agree(schema: object, values: readonly unknown[], problems: (value: unknown) => readonly unknown[]): void {
  const allows = ajv.compile(schema)
  for (const value of values) assert.equal(allows(value), problems(value).length === 0, JSON.stringify(value))
}

describe('the documented requests of workers', () => {
  it('are those that the service accepts', () => {
    const created = [
      {},
      { name: 'abc' },
      worker,
      { ...worker, name: 'ab' },
      { ...worker, name: 7 },
      { ...worker, version: '1.0' },
      { ...worker, version: '1.0.0' },
    ]
    agree(documented.create.body, created, problemsOf)
    agree(
      documented.create.body,
      changes.map((change) => ({ ...worker, ...change })),
      problemsOf,
    )
    agree(
      documented.create.body,
      infrastructures.map((infrastructure) => ({ ...worker, infrastructure })),
      problemsOf,
    )
    agree(documented.update.body, changes, updateProblems)
    agree(
      documented.register.body,
      [{}, { version: '1.2.3' }, { version: '1.2' }, { version: '1.2.3', description: 'x'.repeat(1001) }],
      versionProblems,
    )
    agree(
      documented.enqueue.body,
      options.map((given) => ({ options: given })),
      (body) => jobProblems((body as { options: unknown }).options),
    )
    const children = [
      [],
      [{ worker: 'mail' }],
      [{ worker: 'a b' }],
      [{ worker: 'mail', options: { deduplication: { id: 'x' } } }],
      [{ worker: 'mail', options: { onFailure: 'continue' } }],
      [{ worker: 'mail', options: { onFailure: 'ignore' } }],
      [{ worker: 'mail', x: 1 }],
      7,
    ]
    agree(
      documented.enqueue.body,
      children.map((given) => ({ children: given })),
      (body) => flowProblems({ worker: 'mail', ...(body as object) }),
    )
    const schedules = [
      { every: 1000 },
      { every: 999 },
      { every: 1000, limit: 0 },
      { every: 1000, startDate: '2026-01-01' },
      { every: 1000, options: { delay: 5 } },
      ...[
        { id: 'a' },
        { id: 'a', ttl: 5 },
        { id: 'a', mode: 'until-done' },
        { id: 'a', mode: 'keep-latest' },
        { id: 'a', mode: 'debounce', ttl: 5 },
      ].map((deduplication) => ({ every: 1000, options: { deduplication } })),
    ]
    agree(documented.schedule.body, schedules, (spec) => scheduleProblems('ok', spec, 0, () => 1))
  })
})
