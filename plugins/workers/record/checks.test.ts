import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { problemsOf } from './checks.js'
import { recordOf } from './record.js'

const valid = { name: 'email-sender', queueName: 'emails', processor: 'workers/email.ts' }
const persistence = (value: unknown) => ({ ...valid, infrastructure: { persistence: value } })

const refused: readonly (readonly [what: string, input: unknown, code: string, field: string])[] = [
  ['no object', 'x', 'MISSING_OPTIONS', 'body'],
  ['an array', [], 'MISSING_OPTIONS', 'body'],
  ['no name', { ...valid, name: undefined }, 'MISSING_REQUIRED_FIELD', 'name'],
  ['an empty name', { ...valid, name: '' }, 'MISSING_REQUIRED_FIELD', 'name'],
  ['no queue name', { ...valid, queueName: null }, 'MISSING_REQUIRED_FIELD', 'queueName'],
  ['a name of 2 characters', { ...valid, name: 'ab' }, 'INVALID_WORKER_NAME', 'name'],
  ['a name of 51 characters', { ...valid, name: 'a'.repeat(51) }, 'INVALID_WORKER_NAME', 'name'],
  ['a name with a space', { ...valid, name: 'a worker' }, 'INVALID_WORKER_NAME', 'name'],
  ['a name that ends in a line feed', { ...valid, name: 'worker\n' }, 'INVALID_WORKER_NAME', 'name'],
  ['a name that is a number', { ...valid, name: 12345 }, 'INVALID_WORKER_NAME', 'name'],
  ['a queue name with a colon', { ...valid, queueName: 'a:b:c' }, 'INVALID_QUEUE_NAME', 'queueName'],
  ['a null processor', { ...valid, processor: null }, 'MISSING_PROCESSOR_SPEC', 'processor'],
  ['an empty processor', { ...valid, processor: '' }, 'MISSING_PROCESSOR_SPEC', 'processor'],
  ['a processor that is a number', { ...valid, processor: 7 }, 'INVALID_PROCESSOR_PATH', 'processor'],
  ['a processor that climbs', { ...valid, processor: 'workers/../../etc/x.js' }, 'INVALID_PROCESSOR_PATH_TRAVERSAL', 'processor'],
  ['an encoded climb', { ...valid, processor: 'workers/%2e%2e/x.js' }, 'INVALID_PROCESSOR_PATH', 'processor'],
  ['an HTML entity', { ...valid, processor: 'workers&#x2f;x.js' }, 'INVALID_PROCESSOR_PATH', 'processor'],
  ['a NUL', { ...valid, processor: 'x.js\u0000.ts' }, 'INVALID_PROCESSOR_PATH', 'processor'],
  ['a backslash', { ...valid, processor: '..\\x.js' }, 'INVALID_PROCESSOR_PATH', 'processor'],
  ['a query', { ...valid, processor: 'x.js?y.js' }, 'INVALID_PROCESSOR_PATH', 'processor'],
  ['a URL', { ...valid, processor: 'https://example.com/x.js' }, 'INVALID_PROCESSOR_URL', 'processor'],
  ['a file URL', { ...valid, processor: 'file:///tmp/x.js' }, 'INVALID_PROCESSOR_URL', 'processor'],
  ['a data URL', { ...valid, processor: 'data:text/javascript,1//x.js' }, 'INVALID_PROCESSOR_URL', 'processor'],
  ['another extension', { ...valid, processor: 'workers/x.json' }, 'INVALID_PROCESSOR_EXTENSION', 'processor'],
  ['an extension without a name', { ...valid, processor: 'workers/.js' }, 'INVALID_PROCESSOR_EXTENSION', 'processor'],
  ['concurrency 0', { ...valid, concurrency: 0 }, 'INVALID_CONCURRENCY', 'concurrency'],
  ['concurrency 1001', { ...valid, concurrency: 1001 }, 'INVALID_CONCURRENCY', 'concurrency'],
  ['concurrency as text', { ...valid, concurrency: '5' }, 'INVALID_CONCURRENCY', 'concurrency'],
  ['concurrency 1.5', { ...valid, concurrency: 1.5 }, 'INVALID_CONCURRENCY', 'concurrency'],
  ['a version of two numbers', { ...valid, version: '1.0' }, 'INVALID_VERSION_FORMAT', 'version'],
  ['a version with a tag', { ...valid, version: '1.0.0-beta' }, 'INVALID_VERSION_FORMAT', 'version'],
  ['a text as activeStatus', { ...valid, activeStatus: 'no' }, 'INVALID_ACTIVE_STATUS', 'activeStatus'],
  ['a number as autoStart', { ...valid, autoStart: 1 }, 'INVALID_AUTO_START', 'autoStart'],
  ['features as a list', { ...valid, features: ['metrics'] }, 'INVALID_FEATURES_TYPE', 'features'],
  ['an unknown feature', { ...valid, features: { telepathy: true } }, 'INVALID_FEATURE', 'features'],
  ['an inherited feature name', { ...valid, features: { constructor: true } }, 'INVALID_FEATURE', 'features'],
  ['a feature that is no boolean', { ...valid, features: { metrics: 1 } }, 'INVALID_FEATURE_VALUE', 'features.metrics'],
  ['infrastructure as text', { ...valid, infrastructure: 'redis' }, 'INVALID_INFRASTRUCTURE', 'infrastructure'],
  ['another queue driver', { ...valid, infrastructure: { driver: 'amqp' } }, 'INVALID_INFRASTRUCTURE', 'infrastructure.driver'],
  ['a Redis host', { ...valid, infrastructure: { redis: { host: 'x' } } }, 'INVALID_REDIS_CONFIG', 'infrastructure.redis'],
  ['persistence as text', persistence('db'), 'INVALID_PERSISTENCE_CONFIG', 'infrastructure.persistence'],
  ['the driver docstore', persistence({ driver: 'docstore' }), 'INVALID_PERSISTENCE_CONFIG', 'infrastructure.persistence.driver'],
  ['a client', persistence({ driver: 'db', client: {} }), 'INVALID_PERSISTENCE_CONFIG', 'infrastructure.persistence'],
  ['a table that is no text', persistence({ driver: 'db', table: 1 }), 'INVALID_PERSISTENCE_CONFIG', 'infrastructure.persistence.table'],
  ['a rate limit of 0', { ...valid, rateLimit: { max: 0, duration: 1000 } }, 'INVALID_LIMITER_CONFIG', 'rateLimit'],
  ['a rate limit without duration', { ...valid, rateLimit: { max: 1 } }, 'INVALID_LIMITER_CONFIG', 'rateLimit'],
  ['0 attempts', { ...valid, jobOptions: { attempts: 0 } }, 'INVALID_JOB_OPTIONS', 'jobOptions'],
  ['an unknown backoff', { ...valid, jobOptions: { backoff: { type: 'magic', delay: 1 } } }, 'INVALID_JOB_OPTIONS', 'jobOptions'],
  ['an unknown field', { ...valid, colour: 'red' }, 'UNKNOWN_FIELD', 'body'],
]

describe('the record of a worker', () => {
  for (const [what, input, code, field] of refused) {
    it(`refuses ${what} with ${code}`, () => {
      const [first] = problemsOf(input)
      assert.deepEqual([first?.code, first?.field], [code, field])
    })
  }

  it('accepts every field of the specification that this version acts on', () => {
    const full = {
      ...valid,
      concurrency: 1000,
      activeStatus: false,
      autoStart: null,
      version: '10.20.30',
      features: { resourceMonitoring: true, observability: false },
      infrastructure: { driver: 'redis', redis: { env: true }, persistence: { driver: 'db', table: 'zin_workers', connection: 'default' } },
      rateLimit: { max: 10, duration: 1000 },
      jobOptions: { attempts: 5, backoff: { type: 'exponential', delay: 100 } },
    }
    assert.deepEqual(problemsOf(full), [])
    assert.deepEqual(problemsOf({ ...valid, processor: () => 1 }), [])
    assert.deepEqual(problemsOf({ ...valid, processor: '/srv/app/workers/Größe 1.mjs' }), [])
  })

  it('lists every fault, the first one first', () => {
    assert.deepEqual(
      problemsOf({ name: 'a', concurrency: 0 }).map((problem) => problem.code),
      ['INVALID_WORKER_NAME', 'MISSING_REQUIRED_FIELD', 'INVALID_CONCURRENCY'],
    )
  })

  it('never repeats what it was given', () => {
    const text = JSON.stringify(problemsOf({ ...valid, features: { 'secret-token': true }, 'other-secret': 1 }))
    assert.ok(!text.includes('secret-token') && !text.includes('other-secret'))
  })

  it('fills in the defaults', () => {
    assert.deepEqual(recordOf({ name: 'abc', queueName: 'queue', processor: () => 1 }, { concurrency: 5, driver: 'kvstore' }), {
      name: 'abc',
      queueName: 'queue',
      processor: null,
      concurrency: 5,
      activeStatus: true,
      autoStart: null,
      version: '1.0.0',
      features: {},
      infrastructure: { persistence: { driver: 'kvstore' } },
      rateLimit: null,
      jobOptions: {},
    })
  })
})
