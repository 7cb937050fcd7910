import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ApiHost } from './testing/api-host.js'

/** Shared by the cases of the contract of all codes. */
interface CodesLab {
  api(): ApiHost
  /** The path of a worker of this run, with a suffix. */
  at(worker: string, rest?: string): string
  /** Sends a request that must be rejected with this code and status. */
  refused(code: string, status: number, request: readonly [method: string, path: string, body?: unknown]): Promise<unknown>
}

/** Error codes of versions and isolations; part of the contract of all codes, whose workers it uses. */
export function versionCodesContract({ api, at, refused }: CodesLab): void {
  it('rejects versions of a worker without versioning', async () => {
    const { run, service } = api()
    const features = { versioning: false }
    await service.create({ name: `fixed-${run}`, queueName: `codes-${run}`, processor: 'job.mjs', autoStart: false, features })
    await refused('VERSIONING_OFF', 409, ['POST', at('fixed', '/versions'), { version: '2.0.0', processor: 'job.mjs' }])
    await refused('VERSIONING_OFF', 409, ['POST', at('fixed', '/versions/1.0.0/activate')])
    assert.equal((await api().call('PUT', at('fixed'), { features: { versioning: true } })).status, 200)
    assert.equal((await api().call('POST', at('fixed', '/versions'), { version: '2.0.0', processor: 'job.mjs' })).status, 201)
  })

  it('rejects existing, unknown, broken and too many versions', async () => {
    await refused('VERSION_EXISTS', 409, ['POST', at('idle', '/versions'), { version: '1.0.0', processor: 'job.mjs' }])
    await refused('VERSION_NOT_FOUND', 404, ['POST', at('running', '/versions/7.0.0/activate')])
    await refused('INVALID_VERSION_FORMAT', 400, ['POST', at('running', '/versions/latest/activate')])
    for (const [version, more] of [
      ['2.0.0', { processor: 'job.mjs', healthCheck: 'unwell.mjs' }],
      ['3.0.0', { processor: 'broken.mjs' }],
    ] as const) {
      assert.equal((await api().call('POST', at('running', '/versions'), { version, ...more })).status, 201)
    }
    await refused('VERSION_UNHEALTHY', 409, ['POST', at('running', '/versions/2.0.0/activate')])
    await refused('PROCESSOR_LOAD_FAILED', 422, ['POST', at('running', '/versions/3.0.0/activate')])
    for (let minor = 1; minor < 100; minor++)
      await api().service.registerVersion(`idle-${api().run}`, { version: `1.${minor}.0`, processor: 'job.mjs' })
    await refused('TOO_MANY_VERSIONS', 409, ['POST', at('idle', '/versions'), { version: '2.0.0', processor: 'job.mjs' }])
  })

  it('rejects an isolation that the processor cannot have, and changes nothing', async () => {
    const { run, service } = api()
    const path = at('in-code')
    const shows = async (expected: object) => {
      const { isolation, generation, state, version } = (await api().call('GET', path)).body.worker
      assert.deepEqual({ isolation, generation, state, version }, { isolation: 'inline', state: 'running', version: '1.0.0', ...expected })
    }
    const made = { name: `in-code-${run}`, queueName: `codes-${run}` }
    assert.equal((await api().call('POST', '/api/workers', made)).status, 201)
    for (const isolation of ['thread', 'process']) await refused('PROCESSOR_NOT_ISOLATED', 400, ['PUT', path, { isolation }])
    await shows({ generation: 1 })
    assert.equal((await api().call('PUT', path, { isolation: 'inline', concurrency: 2 })).status, 200)
    await api().call('DELETE', path)

    await service.create({ ...made, processor: 'job.mjs' })
    await service.registerVersion(made.name, { version: '2.0.0' })
    assert.equal((await api().call('PUT', path, { isolation: 'thread' })).status, 200)
    const { generation } = (await api().call('GET', path)).body.worker
    await refused('PROCESSOR_NOT_ISOLATED', 400, ['POST', `${path}/versions/2.0.0/activate`])
    await refused('PROCESSOR_NOT_ISOLATED', 400, ['POST', `${path}/versions`, { version: '3.0.0' }])
    await assert.rejects(service.registerVersion(made.name, { version: '3.0.0', processor: () => 1 }), { code: 'PROCESSOR_NOT_ISOLATED' })
    await shows({ generation, isolation: 'thread' })
    assert.equal((await api().call('GET', `${path}/versions`)).body.versions.length, 2)
    await api().call('DELETE', path)
  })
}
