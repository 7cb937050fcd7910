import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Bench, jobOf, openBench, specOf } from './test-support.js'

const url = 'https://code.example.test/a.mjs'

describe('processors', () => {
  let bench: Bench
  let edge: Bench
  before(async () => {
    const files = {
      'work.mjs': 'export default () => "from the path"',
      'other.mjs': 'export default () => "from the registered path"',
      'check.mjs': 'export const healthCheck = (name) => ({ healthy: name === "emails" })\nexport default () => ({ healthy: false })',
      'check.ts': 'export default async (): Promise<{ healthy: boolean }> => ({ healthy: true })',
      'nothing.mjs': 'export const x = 1',
      'hangs.mjs': 'await new Promise(() => undefined)',
    }
    const egress = (): never => assert.fail('fetched')
    const settings = { REMOTE_PROCESSOR_ALLOWLIST: ['code.example.test'] }
    bench = await openBench({ files, egress, settings, hook: (worker) => (worker === 'hooked' ? () => 'from the hook' : undefined) })
    edge = await openBench({ files, egress, settings, options: { runtime: 'edge' } })
  })
  after(() => Promise.all([bench.close(), edge.close()]))

  const run = async (spec: Parameters<Bench['processors']['load']>[0], on = bench): Promise<unknown> => {
    await on.processors.check(spec)
    const loaded = await on.processors.load(spec)
    loaded.resize(5)
    const result = await loaded.run(jobOf(1))
    await loaded.close()
    return result
  }

  it('are found for the version, then for the worker, then by resolvers, then by the hook', async () => {
    const { registry } = bench
    await assert.rejects(bench.processors.check(specOf(null, { worker: 'hooker' })), { code: 'MISSING_PROCESSOR_SPEC' })
    assert.equal(await run(specOf(null, { worker: 'hooked' })), 'from the hook')
    const withdraw = [registry.registerResolver(() => undefined), registry.registerResolver(async () => () => 'from a resolver')]
    assert.equal(await run(specOf(null, { worker: 'hooked' })), 'from a resolver')
    withdraw.push(registry.registerPath('hooked', 'other.mjs'))
    assert.equal(await run(specOf(null, { worker: 'hooked' })), 'from the registered path')
    withdraw.push(registry.register('hooked', () => 'from the worker'))
    assert.equal(await run(specOf(null, { worker: 'hooked' })), 'from the worker')
    withdraw.push(registry.registerPath('hooked@1.0.0', 'work.mjs'))
    assert.equal(await run(specOf(null, { worker: 'hooked' })), 'from the path')
    withdraw.push(registry.register('hooked@1.0.0', () => 'from the version'))
    assert.equal(await run(specOf(null, { worker: 'hooked' })), 'from the version')
    const takeBack = registry.give('hooked@1.0.0', () => 'from its creation')
    assert.equal(await run(specOf(null, { worker: 'hooked' })), 'from its creation')
    takeBack()
    assert.equal(await run(specOf(null, { worker: 'hooked' })), 'from the version')
    assert.equal(await run(specOf(null, { worker: 'hooked', version: '1.0.1' })), 'from the worker')
    assert.equal(await run(specOf('work.mjs', { worker: 'hooked' })), 'from the path')
    withdraw.forEach((undo) => undo())
    assert.equal(await run(specOf(null, { worker: 'hooked' })), 'from the hook')
  })

  it('run only inline if they are functions', async () => {
    const withdraw = bench.registry.register('inline', () => 1)
    for (const isolation of ['thread', 'process'] as const) {
      await assert.rejects(bench.processors.check(specOf(null, { worker: 'inline', isolation })), {
        code: 'PROCESSOR_NOT_ISOLATED',
        status: 400,
      })
      await assert.rejects(bench.processors.load(specOf(null, { worker: 'inline', isolation })), { code: 'PROCESSOR_NOT_ISOLATED' })
    }
    withdraw()
  })

  it('are checked without being loaded', async () => {
    for (const isolation of ['inline', 'thread', 'process'] as const) {
      await bench.processors.check(specOf('hangs.mjs', { isolation }))
      await bench.processors.check(specOf(url, { isolation }))
      await assert.rejects(bench.processors.check(specOf('missing.mjs', { isolation })), { code: 'INVALID_PROCESSOR_PATH' })
    }
  })

  it('are prebuilt if exactly their text is registered, and are not fetched then', async () => {
    const withdraw = bench.registry.registerPrebuilt(url, () => 'prebuilt')
    assert.equal(await run(specOf(url)), 'prebuilt')
    assert.equal(await run(specOf(url, { isolation: 'thread' })), 'prebuilt')
    for (const near of [`${url}?`, `${url}#sha256-${'0'.repeat(64)}`, url.replace('code', 'CODE'), 'https://code.example.test:443/a.mjs']) {
      await assert.rejects(bench.processors.load(specOf(near)), /fetched/, near)
    }
    withdraw()
  })

  it('must be functions or prebuilt on an edge runtime', async () => {
    const { processors, registry } = edge
    registry.registerPrebuilt(url, () => 'prebuilt')
    registry.register('emails', () => 'registered')
    assert.equal(await run(specOf(url), edge), 'prebuilt')
    assert.equal(await run(specOf(null), edge), 'registered')
    for (const spec of [specOf(`${url}?x`), specOf('work.mjs')]) {
      await assert.rejects(processors.check(spec), { code: 'PROCESSOR_NOT_PREBUILT', status: 400 })
      await assert.rejects(processors.load(spec), { code: 'PROCESSOR_NOT_PREBUILT' })
    }
    await assert.rejects(processors.loadHealthCheck('emails', '1.0.0', 'check.mjs'), { code: 'PROCESSOR_NOT_PREBUILT' })
  })

  it('have health checks from a file, or registered for the version or the worker', async () => {
    const { processors, registry } = bench
    const signal = new AbortController().signal
    const check = async (path: string | null, version = '1.0.0') =>
      (await processors.loadHealthCheck('emails', version, path))?.('emails', signal)
    assert.equal(await check(null), undefined)
    assert.deepEqual(await check('check.mjs'), { healthy: true })
    assert.deepEqual(await check('check.ts'), { healthy: true })
    const withdraw = [registry.registerHealthCheck('emails', () => ({ healthy: false }))]
    withdraw.push(registry.registerHealthCheck('emails@2.0.0', () => ({ healthy: true })))
    assert.deepEqual(await Promise.all([check(null), check(null, '2.0.0')]), [{ healthy: false }, { healthy: true }])
    withdraw.forEach((undo) => undo())
    assert.equal(await check(null), undefined)
    await assert.rejects(check('nothing.mjs'), { code: 'PROCESSOR_LOAD_FAILED' })
    await assert.rejects(check('../check.mjs'), { code: 'INVALID_PROCESSOR_PATH_TRAVERSAL' })
    await assert.rejects(check(url), { code: 'INVALID_HEALTH_CHECK' })
  })
})
