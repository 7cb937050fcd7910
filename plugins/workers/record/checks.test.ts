import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { problemsOf, updateProblems, versionProblems } from './checks.js'

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
  ['a plain http URL', { ...valid, processor: 'http://example.com/x.js' }, 'INVALID_PROCESSOR_URL', 'processor'],
  ['a URL with a password', { ...valid, processor: 'https://u:p@example.com/x.js' }, 'INVALID_PROCESSOR_URL', 'processor'],
  ['a URL with another fragment', { ...valid, processor: 'https://example.com/x.js#top' }, 'INVALID_PROCESSOR_URL', 'processor'],
  ['a URL with a short pin', { ...valid, processor: 'https://example.com/x.js#sha256-abc' }, 'INVALID_PROCESSOR_URL', 'processor'],
  ['a URL with an empty fragment', { ...valid, processor: 'https://example.com/x.js#' }, 'INVALID_PROCESSOR_URL', 'processor'],
  ['a URL with a line feed', { ...valid, processor: 'https://example.com/\nx.js' }, 'INVALID_PROCESSOR_URL', 'processor'],
  ['a URL with a backslash', { ...valid, processor: 'https:\\\\example.com/x.js' }, 'INVALID_PROCESSOR_URL', 'processor'],
  ['a null health check', { ...valid, healthCheck: null }, 'INVALID_HEALTH_CHECK', 'healthCheck'],
  ['a health check from a URL', { ...valid, healthCheck: 'https://example.com/x.js' }, 'INVALID_HEALTH_CHECK', 'healthCheck'],
  ['a health check that climbs', { ...valid, healthCheck: '../x.js' }, 'INVALID_PROCESSOR_PATH_TRAVERSAL', 'healthCheck'],
  ['a file URL', { ...valid, processor: 'file:///tmp/x.js' }, 'INVALID_PROCESSOR_URL', 'processor'],
  ['a data URL', { ...valid, processor: 'data:text/javascript,1//x.js' }, 'INVALID_PROCESSOR_URL', 'processor'],
  ['another extension', { ...valid, processor: 'workers/x.json' }, 'INVALID_PROCESSOR_EXTENSION', 'processor'],
  ['an extension without a name', { ...valid, processor: 'workers/.js' }, 'INVALID_PROCESSOR_EXTENSION', 'processor'],
  ['concurrency 0', { ...valid, concurrency: 0 }, 'INVALID_CONCURRENCY', 'concurrency'],
  ['concurrency 1001', { ...valid, concurrency: 1001 }, 'INVALID_CONCURRENCY', 'concurrency'],
  ['concurrency as text', { ...valid, concurrency: '5' }, 'INVALID_CONCURRENCY', 'concurrency'],
  ['concurrency NaN', { ...valid, concurrency: Number.NaN }, 'INVALID_CONCURRENCY', 'concurrency'],
  ['concurrency 1e308', { ...valid, concurrency: 1e308 }, 'INVALID_CONCURRENCY', 'concurrency'],
  ['concurrency 1.5', { ...valid, concurrency: 1.5 }, 'INVALID_CONCURRENCY', 'concurrency'],
  ['a version of two numbers', { ...valid, version: '1.0' }, 'INVALID_VERSION_FORMAT', 'version'],
  ['a version with a tag', { ...valid, version: '1.0.0-beta' }, 'INVALID_VERSION_FORMAT', 'version'],
  ['a text as activeStatus', { ...valid, activeStatus: 'no' }, 'INVALID_ACTIVE_STATUS', 'activeStatus'],
  ['a number as autoStart', { ...valid, autoStart: 1 }, 'INVALID_AUTO_START', 'autoStart'],
  ['features as a list', { ...valid, features: ['metrics'] }, 'INVALID_FEATURES_TYPE', 'features'],
  ['what cannot be the name of a feature', { ...valid, features: { 'tele pathy': true } }, 'INVALID_FEATURE', 'features.tele pathy'],
  ['extensions as a list', { ...valid, extensions: [] }, 'INVALID_EXTENSIONS', 'extensions'],
  ['an extension of what is no plugin', { ...valid, extensions: JSON.parse('{"__proto__":{}}') }, 'INVALID_EXTENSIONS', 'extensions'],
  ['an extension that is no object', { ...valid, extensions: { shaper: 7 } }, 'INVALID_EXTENSIONS', 'extensions'],
  ['extensions that are too large', { ...valid, extensions: { shaper: { text: 'x'.repeat(32_768) } } }, 'INVALID_EXTENSIONS', 'extensions'],
  ['a feature that is no boolean', { ...valid, features: { metrics: 1 } }, 'INVALID_FEATURE_VALUE', 'features.metrics'],
  ['infrastructure as text', { ...valid, infrastructure: 'redis' }, 'INVALID_INFRASTRUCTURE', 'infrastructure'],
  ['another queue driver', { ...valid, infrastructure: { driver: 'amqp' } }, 'INVALID_INFRASTRUCTURE', 'infrastructure.driver'],
  ['a Redis host', { ...valid, infrastructure: { redis: { host: 'x' } } }, 'INVALID_REDIS_CONFIG', 'infrastructure.redis'],
  ['persistence as text', persistence('db'), 'INVALID_PERSISTENCE_CONFIG', 'infrastructure.persistence'],
  ['another store', persistence({ driver: 'postgres' }), 'INVALID_PERSISTENCE_CONFIG', 'infrastructure.persistence.driver'],
  ['a store that objects have', persistence({ driver: 'constructor' }), 'INVALID_PERSISTENCE_CONFIG', 'infrastructure.persistence.driver'],
  ['a client that is text', persistence({ client: 'db' }), 'INVALID_PERSISTENCE_CONFIG', 'infrastructure.persistence.client'],
  ['a host', persistence({ host: 'x' }), 'INVALID_PERSISTENCE_CONFIG', 'infrastructure.persistence.host'],
  ['a table with a quote', persistence({ table: 'a`b' }), 'INVALID_PERSISTENCE_CONFIG', 'infrastructure.persistence.table'],
  ['a prefix with a line feed', persistence({ keyPrefix: 'a\n' }), 'INVALID_PERSISTENCE_CONFIG', 'infrastructure.persistence.keyPrefix'],
  ['a table that is no text', persistence({ driver: 'db', table: 1 }), 'INVALID_PERSISTENCE_CONFIG', 'infrastructure.persistence.table'],
  ['a rate limit of 0', { ...valid, rateLimit: { max: 0, duration: 1000 } }, 'INVALID_LIMITER_CONFIG', 'rateLimit'],
  ['a rate limit without duration', { ...valid, rateLimit: { max: 1 } }, 'INVALID_LIMITER_CONFIG', 'rateLimit'],
  ['0 attempts', { ...valid, jobOptions: { attempts: 0 } }, 'INVALID_JOB_OPTIONS', 'jobOptions'],
  ['an unknown backoff', { ...valid, jobOptions: { backoff: { type: 'magic', delay: 1 } } }, 'INVALID_JOB_OPTIONS', 'jobOptions'],
  ['a timeout of 0', { ...valid, jobOptions: { timeout: 0 } }, 'INVALID_JOB_OPTIONS', 'jobOptions'],
  ['a timeout of more than a day', { ...valid, jobOptions: { timeout: 86_400_001 } }, 'INVALID_JOB_OPTIONS', 'jobOptions'],
  ['job options as a list', { ...valid, jobOptions: [] }, 'INVALID_JOB_OPTIONS', 'jobOptions'],
  ['another isolation', { ...valid, isolation: 'vm' }, 'INVALID_ISOLATION', 'isolation'],
  ['an isolated function', { ...valid, processor: () => 1, isolation: 'thread' }, 'INVALID_ISOLATION', 'isolation'],
  ['a URL inline', { ...valid, processor: 'https://example.com/x.js', isolation: 'inline' }, 'INVALID_ISOLATION', 'isolation'],
  ['a URL in a thread', { ...valid, processor: 'https://example.com/x.js', isolation: 'thread' }, 'INVALID_ISOLATION', 'isolation'],
  ['a placement as text', { ...valid, placement: 'all' }, 'INVALID_PLACEMENT', 'placement'],
  ['a selector', { ...valid, placement: { selector: {} } }, 'INVALID_PLACEMENT', 'placement'],
  ['a placement on no node', { ...valid, placement: { nodes: 0 } }, 'INVALID_PLACEMENT', 'placement.nodes'],
  ['a placement on 1001 nodes', { ...valid, placement: { nodes: 1001 } }, 'INVALID_PLACEMENT', 'placement.nodes'],
  ['no regions', { ...valid, placement: { regions: [] } }, 'INVALID_PLACEMENT', 'placement.regions'],
  ['21 regions', { ...valid, placement: { regions: Array(21).fill('eu-west-1') } }, 'INVALID_PLACEMENT', 'placement.regions'],
  ['a list with holes', { ...valid, placement: { regions: Array(3) } }, 'INVALID_DATACENTER_REGION', 'placement.regions'],
  ['a region in capitals', { ...valid, placement: { regions: ['EU-WEST'] } }, 'INVALID_DATACENTER_REGION', 'placement.regions'],
  ['a region of 2 letters', { ...valid, placement: { regions: ['eu'] } }, 'INVALID_DATACENTER_REGION', 'placement.regions'],
  ['own prototype keys', JSON.parse('{"name":"abc","queueName":"abc","__proto__":{"concurrency":7}}'), 'UNKNOWN_FIELD', '__proto__'],
  ['a feature named __proto__', { ...valid, features: JSON.parse('{"__proto__":true}') }, 'INVALID_FEATURE', 'features.__proto__'],
  ['inherited fields', Object.create({ ...valid }), 'MISSING_REQUIRED_FIELD', 'name'],
  ['an unknown field', { ...valid, colour: 'red' }, 'UNKNOWN_FIELD', 'colour'],
]

describe('the record of a worker', () => {
  for (const [what, input, code, field] of refused) {
    it(`refuses ${what} with ${code}`, () => {
      const [first] = problemsOf(input)
      assert.deepEqual([first?.code, first?.field], [code, field])
    })
  }

  it('accepts every field of the specification', () => {
    const full = {
      ...valid,
      healthCheck: 'checks/email.js',
      concurrency: 1000,
      activeStatus: false,
      autoStart: null,
      version: '10.20.30',
      features: { resourceMonitoring: true, observability: false },
      infrastructure: { driver: 'redis', redis: { env: true }, persistence: { driver: 'db', table: 'zin_workers', connection: 'default' } },
      rateLimit: { max: 10, duration: 1000 },
      jobOptions: { attempts: 5, backoff: { type: 'exponential', delay: 100 }, timeout: 86_400_000 },
      isolation: 'process',
      placement: { nodes: 1000, regions: ['us-east-1'] },
    }
    assert.deepEqual(problemsOf(full), [])
    assert.deepEqual(problemsOf({ ...valid, processor: () => 1, healthCheck: () => ({ healthy: true }), isolation: 'inline' }), [])
    assert.deepEqual(problemsOf({ ...valid, processor: '/srv/app/workers/Größe 1.mjs', rateLimit: null }), [])
    for (const driver of ['memory', 'kvstore', 'db', 'docstore', 'edge-sql'])
      assert.deepEqual(problemsOf(persistence({ driver, client: {} })), [])
    const hex = 'a'.repeat(64)
    for (const pin of ['', `#sha256-${hex}`, `#sha256-${Buffer.from(hex, 'hex').toString('base64')}`]) {
      assert.deepEqual(problemsOf({ ...valid, processor: `https://example.com/a/x.js?v=1${pin}` }), [])
    }
  })

  it('lists every problem in order', () => {
    assert.deepEqual(
      problemsOf({ name: 'a', concurrency: 0 }).map((problem) => problem.code),
      ['INVALID_WORKER_NAME', 'MISSING_REQUIRED_FIELD', 'INVALID_CONCURRENCY'],
    )
  })

  it('never repeats an input value', () => {
    const wrong = Object.fromEntries(Object.keys(valid).map((field) => [field, 'a secret!']))
    const text = JSON.stringify(problemsOf({ ...wrong, features: { metrics: 'a secret!' }, colour: 'a secret!' }))
    assert.ok(text.includes('colour') && !text.includes('secret!'), text)
  })
})

describe('an unknown field', () => {
  const messageOf = (input: unknown) => problemsOf(input).map(({ message }) => message)

  it('is named, with a suggestion', () => {
    assert.deepEqual(messageOf({ ...valid, Concurrency: 2 }), ['"Concurrency" is not known; did you mean "concurrency"?'])
    assert.deepEqual(messageOf({ ...valid, features: { 'metrics ': true } }), ['"features.metrics " is not known; did you mean "metrics"?'])
    assert.match(messageOf({ ...valid, colour: 1 })[0] ?? '', /^"colour" is not known; known ones: name, queueName, /)
    assert.deepEqual(messageOf({ ...valid, infrastructure: { persistence: { tabel: 'x' } } }), [
      '"infrastructure.persistence.tabel" is not known; did you mean "table"?',
    ])
  })

  it('is truncated, and limited to the first twenty', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`${'x'.repeat(5000)}${n}`, 1]))
    const messages = messageOf({ ...valid, ...many })
    assert.equal(messages.length, 20)
    for (const message of messages) assert.ok(message.length < 400, message)
  })
})

describe('an update of a worker', () => {
  it('may contain changeable fields only', () => {
    assert.deepEqual(updateProblems({}), [])
    const changes = { queueName: 'other', concurrency: 2, activeStatus: false, autoStart: true, rateLimit: null, isolation: 'thread' }
    assert.deepEqual(updateProblems({ ...changes, features: {}, jobOptions: {}, placement: { nodes: 'all' } }), [])
    for (const field of ['name', 'processor', 'healthCheck', 'version', 'infrastructure']) {
      const [first, ...more] = updateProblems({ concurrency: 2, [field]: 'x' })
      assert.deepEqual([first?.code, first?.field, more], ['IMMUTABLE_FIELD', field, []])
      assert.match(first?.message ?? '', /cannot be changed; (create|register|remove)/)
    }
  })

  it('is validated like a new worker', () => {
    assert.deepEqual(
      updateProblems({ queueName: '', concurrency: 0, colour: 1 }).map(({ code }) => code),
      ['INVALID_QUEUE_NAME', 'INVALID_CONCURRENCY', 'UNKNOWN_FIELD'],
    )
    assert.equal(updateProblems(null)[0]?.code, 'MISSING_OPTIONS')
  })
})

describe('a version of a worker', () => {
  it('has a number, and optionally a description and code', () => {
    assert.deepEqual(versionProblems({ version: '1.2.3' }), [])
    assert.deepEqual(versionProblems({ version: '1.2.3', description: 'x'.repeat(1000), processor: 'a.ts', healthCheck: 'b.ts' }), [])
    const codes = (input: unknown) => versionProblems(input).map(({ code }) => code)
    assert.deepEqual(codes({}), ['MISSING_REQUIRED_FIELD'])
    assert.deepEqual(codes({ version: '1.2' }), ['INVALID_VERSION_FORMAT'])
    assert.deepEqual(codes({ version: '1.2.3', description: 'x'.repeat(1001) }), ['INVALID_VERSION_DESCRIPTION'])
    assert.deepEqual(codes({ version: '1.2.3', processor: 'ftp://x/y.js', concurrency: 2 }), ['INVALID_PROCESSOR_URL', 'UNKNOWN_FIELD'])
    assert.deepEqual(codes([]), ['MISSING_OPTIONS'])
  })
})
