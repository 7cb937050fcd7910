import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { firstVersionOf, recordOf, updatedRecord, versionOf } from './make.js'
import { processorUrl } from './processor-url.js'

const defaults = { concurrency: 5, driver: 'kvstore' } as const
const plain = { name: 'abc', queueName: 'queue' }

describe('the stored record of a worker', () => {
  it('has every default, and nothing that belongs to versions', () => {
    assert.deepEqual(recordOf({ ...plain, processor: () => 1, version: '2.0.0' }, defaults), {
      ...plain,
      concurrency: 5,
      activeStatus: true,
      autoStart: null,
      features: {},
      infrastructure: { persistence: { driver: 'kvstore' } },
      rateLimit: null,
      jobOptions: {},
      isolation: 'inline',
      placement: { nodes: 'all' },
    })
  })

  it('is plain JSON without functions and clients', () => {
    const persistence = { driver: 'db', connection: 'reports', table: 'jobs', client: { tables: () => 1 } } as const
    const record = recordOf(
      { ...plain, processor: () => 1, infrastructure: { driver: 'embedded', redis: { env: true }, persistence } },
      defaults,
    )
    assert.deepEqual(JSON.parse(JSON.stringify(record)), record)
    assert.deepEqual(record.infrastructure, { driver: 'embedded', redis: { env: true }, persistence: { driver: 'db', table: 'jobs' } })
    assert.equal(
      recordOf({ ...plain, infrastructure: { persistence: { connection: 'a' } } }, defaults).infrastructure.persistence.connection,
      'a',
    )
  })

  it('isolates code from a URL', () => {
    assert.equal(recordOf({ ...plain, processor: 'https://example.com/x.js' }, defaults).isolation, 'process')
    assert.equal(recordOf({ ...plain, processor: 'https://example.com/x.js', isolation: 'process' }, defaults).isolation, 'process')
  })

  it('changes only the fields of an update, which may be null', () => {
    const record = recordOf({ ...plain, autoStart: true, rateLimit: { max: 1, duration: 1 }, placement: { regions: ['eu-1'] } }, defaults)
    assert.deepEqual(updatedRecord(record, {}), record)
    assert.deepEqual(updatedRecord(record, { concurrency: 9, autoStart: null, rateLimit: null, placement: { nodes: 2 } }), {
      ...record,
      concurrency: 9,
      autoStart: null,
      rateLimit: null,
      placement: { nodes: 2 },
    })
  })

  it('starts with an active version; later ones are not active', () => {
    const first = { version: '1.0.0', description: '', processor: 'a.ts', healthCheck: null, createdAt: 7, activatedAt: 7 }
    assert.deepEqual(firstVersionOf({ ...plain, processor: 'a.ts', healthCheck: () => ({ healthy: true }) }, 7), first)
    assert.deepEqual(versionOf({ version: '1.1.0', description: 'new', processor: () => 1, healthCheck: 'b.ts' }, 8), {
      version: '1.1.0',
      description: 'new',
      processor: null,
      healthCheck: 'b.ts',
      createdAt: 8,
      activatedAt: null,
    })
  })
})

describe('the URL of a processor', () => {
  it('is parsed into the address and the pinned digest, as hex or base64', () => {
    const hex = '0123456789abcdef'.repeat(4)
    const base64 = Buffer.from(hex, 'hex').toString('base64')
    for (const pin of [hex, hex.toUpperCase(), base64, base64.replace('=', '')]) {
      const found = processorUrl(`https://example.com/x.js#sha256-${pin}`)
      assert.deepEqual([found?.url.href, found?.sha256], ['https://example.com/x.js', hex])
    }
    assert.equal(processorUrl('https://example.com/x.js')?.sha256, undefined)
  })
})
