import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { definePlugin, Type } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { createTestHost, fake, type TestHost } from 'zin/testing'
import { defineWorkerFeature, type WorkerFeature, workers, workersService } from './index.js'

const schema = Type.Object(
  { perMinute: Type.Integer({ minimum: 1, default: 60 }), keys: Type.Optional(Type.Array(Type.String())) },
  { additionalProperties: false },
)
const pacing = defineWorkerFeature({ plugin: 'pace', feature: 'pacing', schema })

/** A plugin that offers these features and nothing else. */
const offering = (name: string, ...features: readonly WorkerFeature[]) =>
  definePlugin({
    name,
    version: '1.0.0',
    uses: { workers: workersService },
    setup({ onStart, onStop, services }) {
      onStart(() => {
        for (const feature of features) onStop(services.workers.offerFeature(feature))
      })
    },
  })()

const needed = () => [database(), kv(), cluster(), ops(), workers()]
// No job runs here: opening a queue store for each host would only take time.
const services = [fake(queuesService, { backend: 'embedded', addCanceller: () => () => undefined, schedules: async () => [] })]

async function withApp(features: readonly WorkerFeature[], test: (app: TestHost) => Promise<void>, dataDir?: string): Promise<void> {
  const app = await createTestHost({
    plugins: [...needed(), offering('pace', ...features)],
    services,
    env: { WORKER_PERSISTENCE_DRIVER: 'db' },
    ...(dataDir === undefined ? {} : { dataDir }),
  })
  try {
    await test(app)
  } finally {
    await app.stop()
  }
}

const put = async (app: TestHost, body: unknown) => {
  const answer = await app.inject({ method: 'PUT', path: '/api/workers/paced', headers: { 'x-requested-with': 'test' }, body })
  return { status: answer.status, body: answer.body }
}

describe("a plugin's feature and its part of a worker's record", () => {
  it('are validated with the path of each problem, completed with defaults, and shown', () =>
    withApp([pacing], async (app) => {
      const { create, get } = app.service(workersService)
      const worker = { name: 'paced', queueName: 'paced', processor: () => 1, features: { pacing: true } }
      await assert.rejects(create({ ...worker, extensions: { pace: { perMinute: 0, keys: ['a', 7], colour: 'red' } } }), (error: never) => {
        const { code, status, details } = error as { code: string; status: number; details: readonly { field: string; code: string }[] }
        assert.deepEqual([code, status], ['INVALID_EXTENSION', 400])
        assert.deepEqual(details.map(({ field }) => field).sort(), [
          'extensions.pace.colour',
          'extensions.pace.keys.1',
          'extensions.pace.perMinute',
        ])
        return true
      })
      await create(worker)
      assert.deepEqual((await get('paced')).extensions, { pace: { perMinute: 60 } })
      assert.equal((await put(app, { extensions: { pace: { perMinute: 5, keys: ['user'] } } })).status, 200)
      const { body } = await put(app, { concurrency: 2 })
      assert.deepEqual(body.worker.extensions, { pace: { perMinute: 5, keys: ['user'] } })
      assert.deepEqual(pacing.of(await get('paced')), { perMinute: 5, keys: ['user'] })
      const refused = await put(app, { extensions: { other: {} } })
      assert.deepEqual([refused.status, refused.body.code], [400, 'EXTENSION_UNAVAILABLE'])
      assert.match(refused.body.message, /"other"/)
      await put(app, { features: {}, extensions: { pace: null } })
      assert.deepEqual([(await get('paced')).extensions, pacing.isOn(await get('paced'))], [undefined, false])
    }))

  it('stay unchanged while the plugin is off, when new data is rejected', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'zin-extensions-'))
    const kept = { extensions: { pace: { perMinute: 5 } }, features: { pacing: true } }
    const asStored = { ...kept, extensionVersions: { pace: 1 } }
    await withApp(
      [pacing],
      async (app) => {
        await app.service(workersService).create({ name: 'paced', queueName: 'paced', processor: () => 1, ...kept })
      },
      dataDir,
    )
    await withApp(
      [],
      async (app) => {
        const { get } = app.service(workersService)
        const shown = async () => {
          const { extensions, extensionVersions, features, inactiveFeatures } = await get('paced')
          return { extensions, extensionVersions, features, inactiveFeatures }
        }
        assert.deepEqual(await shown(), { ...asStored, inactiveFeatures: ['pacing'] })
        assert.equal((await put(app, { concurrency: 3, extensions: kept.extensions })).status, 200)
        assert.deepEqual(await shown(), { ...asStored, inactiveFeatures: ['pacing'] })
        const changed = await put(app, { extensions: { pace: { perMinute: 6 } } })
        assert.deepEqual([changed.status, changed.body.code], [400, 'EXTENSION_UNAVAILABLE'])
        const asked = await put(app, { features: { pacing: true } })
        assert.deepEqual([asked.status, asked.body.code], [400, 'FEATURE_UNAVAILABLE'])
      },
      dataDir,
    )
    const upgrade = (data: unknown) => ({ perHour: (data as { perMinute: number }).perMinute * 60 })
    const later = defineWorkerFeature({
      plugin: 'pace',
      feature: 'pacing',
      version: 2,
      schema: Type.Object({ perHour: Type.Integer() }, { additionalProperties: false }),
      upgrade,
    })
    const stored = { name: 'paced', ...asStored }
    for (const [failing, message] of [
      [() => assert.fail('no rate'), /"paced".*upgrade from version 1 failed: no rate/],
      [() => undefined, /"extensions.pace" must be object/],
    ] as const) {
      const broken = defineWorkerFeature({ plugin: 'pace', feature: 'pacing', version: 2, schema, upgrade: failing })
      assert.throws(() => broken.of(stored), { code: 'WORKER_EXTENSION_UNREADABLE', message })
    }
    await withApp(
      [later],
      async (app) => {
        const worker = await app.service(workersService).get('paced')
        assert.deepEqual([worker.inactiveFeatures, later.of(worker)], [undefined, { perHour: 300 }])
        await put(app, { extensions: { pace: { perHour: 7 } } })
        const now = await app.service(workersService).get('paced')
        assert.deepEqual([later.of(now), now.extensionVersions], [{ perHour: 7 }, { pace: 2 }])
        assert.throws(() => pacing.of(now), { code: 'WORKER_EXTENSION_UNREADABLE', message: /"paced".*version 2 .*this one is 1/ })
      },
      dataDir,
    )
    await rm(dataDir, { recursive: true, force: true })
  })

  it('fail the boot when they are malformed or already owned, naming the plugin, the field and the fix', async () => {
    const spec = { plugin: 'pace', feature: 'pacing' }
    for (const [wrong, text] of [
      [{ plugin: 'Pace it' }, /^Pace it: .*"plugin"/],
      [{ feature: 'p' }, /^pace: .*"feature" must/],
      [{ schema: Type.String() as never }, /"schema" must be the schema of an object/],
      [{ version: 0 }, /"version"/],
      [{ version: 2, schema }, /"upgrade"/],
    ] as const) {
      assert.throws(() => defineWorkerFeature({ ...spec, ...wrong }), { code: 'WORKER_FEATURE_INVALID', message: text })
    }
    const another = defineWorkerFeature({ plugin: 'pace', feature: 'pausing', schema })
    for (const [features, text] of [
      [[pacing, pacing], /pace: .*"pacing".*twice/],
      [[pacing, another], /pace: .*"pausing".*no schema/],
      [[defineWorkerFeature({ plugin: 'pace', feature: 'canary' })], /pace: .*"canary".*belongs to the plugin "canary"/],
      [
        [defineWorkerFeature({ ...spec, schema: { type: 'object', properties: { a: { type: 'text' } } } as never })],
        /"schema" cannot be used/,
      ],
    ] as const) {
      await assert.rejects(createTestHost({ services, plugins: [...needed(), offering('pace', ...features)] }), text)
    }
    const twoOwners = [offering('pace', pacing), offering('walk', defineWorkerFeature({ plugin: 'walk', feature: 'pacing' }))]
    await assert.rejects(
      createTestHost({ services, plugins: [...needed(), ...twoOwners] }),
      /"pacing".*belongs to the plugin "(pace|walk)"/,
    )
  })
})
