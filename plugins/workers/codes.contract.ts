import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, describe, it } from 'node:test'
import { Type } from 'zin'
import { kvService } from 'zin/plugins/kv'
import { queuesService } from 'zin/plugins/queues'
import { workerErrors } from './errors.js'
import { defineWorkerFeature } from './record/define-feature.js'
import type { ApiHost } from './testing/api-host.js'
import { refusedCreations, refusedJobs, refusedSchedules, refusedUpdates, refusedVersions, testedElsewhere } from './testing/refusals.js'
import { versionCodesContract } from './version-codes.contract.js'

/** Every error code of the worker API, over HTTP. */
export function codesContract(api: () => ApiHost): void {
  describe('its error handling', () => {
    const seen = new Set<string>()
    /** `running`, `idle` (stopped) and `retired` (activeStatus false) exist in every test. */
    const at = (worker: string, rest = ''): string => `/api/workers/${worker}-${api().run}${rest}`
    const creation = (name: string, more: object = {}): object => ({ name, queueName: `codes-${api().run}`, processor: 'job.mjs', ...more })
    const refused = async (code: string, status: number, [method, path, body]: readonly [method: string, path: string, body?: unknown]) => {
      const answer = await api().call(method, path, body)
      assert.deepEqual([answer.status, answer.body.code], [status, code], `${method} ${path} ${JSON.stringify(body)}: ${answer.text}`)
      for (const field of ['error', 'message']) assert.ok(answer.body[field].length > 0)
      seen.add(code)
      return answer.body
    }
    before(async () => {
      const { run, service } = api()
      for (const [name, more] of [
        ['running', {}],
        ['idle', { autoStart: false }],
        ['retired', { activeStatus: false }],
      ] as const) {
        await service.create({ name: `${name}-${run}`, queueName: `codes-${run}`, processor: 'job.mjs', ...more })
      }
    })

    for (const [what, table, target] of [
      ['a creation', refusedCreations, () => ['POST', '/api/workers'] as const],
      ['an update', refusedUpdates, () => ['PUT', at('idle')] as const],
      ['a version', refusedVersions, () => ['POST', at('idle', '/versions')] as const],
      ['a job', refusedJobs, () => ['POST', at('idle', '/jobs')] as const],
      ['a schedule', refusedSchedules, () => ['PUT', at('idle', '/schedules/hourly')] as const],
    ] as const) {
      for (const [code, bodies] of Object.entries(table)) {
        it(`${code}: ${what}`, async () => {
          const [method, path] = target()
          for (const body of bodies)
            await refused(code, 400, [
              method,
              path,
              method === 'POST' && path === '/api/workers' ? creation(`new-${api().run}`, body) : body,
            ])
        })
      }
    }

    it('changes nothing', async () => {
      assert.equal((await api().call('GET', at('new'))).status, 404)
      const { worker } = (await api().call('GET', at('idle'))).body
      assert.deepEqual([worker.generation, worker.concurrency], [1, 5])
      const { schedules } = (await api().call('GET', at('idle', '/schedules'))).body
      assert.deepEqual(schedules, [])
    })

    it('names the first problem and lists all', async () => {
      const body = await refused('INVALID_WORKER_NAME', 400, ['POST', '/api/workers', { name: 'a b', queueName: 7, colour: 'red' }])
      assert.deepEqual(
        body.details.map(({ field, code }: Record<string, string>) => [field, code]),
        [
          ['name', 'INVALID_WORKER_NAME'],
          ['queueName', 'INVALID_QUEUE_NAME'],
          ['colour', 'UNKNOWN_FIELD'],
        ],
      )
    })

    it('rejects queries, bodies and parameters that no route accepts', async () => {
      assert.deepEqual(
        (await refused('INVALID_JOB_OPTIONS', 400, ['POST', at('idle', '/jobs'), { options: { name: '\0' } }])).details[0].field,
        'options.name',
      )
      assert.match((await refused('QUEUE_INVALID_JOB', 400, ['POST', at('idle', '/jobs'), { data: '\0' }])).message, /data/)
      for (const query of [
        'page=0',
        'page=1000001',
        'page=x',
        'limit=0',
        'limit=101',
        'status=busy',
        'driver=db&table=users',
        'includeInactive=2',
      ]) {
        await refused('VALIDATION_FAILED', 400, ['GET', `/api/workers?${query}`])
      }
      for (const wait of ['-1', '60001', 'x']) await refused('VALIDATION_FAILED', 400, ['POST', at('idle', `/start?wait=${wait}`)])
      await refused('VALIDATION_FAILED', 400, ['GET', at('idle', '/monitoring/history?hours=0')])
      await refused('VALIDATION_FAILED', 400, ['POST', '/api/workers', []])
      await refused('UNSUPPORTED_MEDIA_TYPE', 415, ['POST', '/api/workers', 'name=abc'])
      await refused('PAYLOAD_TOO_LARGE', 413, ['POST', '/api/workers', creation('large', { features: 'x'.repeat(70_000) })])
      await refused('INVALID_SCHEDULE', 400, ['PUT', at('idle', '/schedules/a%20b'), { every: 5000 }])
    })

    it('rejects in code what a request cannot contain', async () => {
      const { service } = api()
      for (const [code, call] of [
        ['MISSING_OPTIONS', () => service.create(undefined as never)],
        ['MISSING_OPTIONS', () => service.update(`idle-${api().run}`, [] as never)],
        ['INVALID_PAGE', () => service.list({ page: 0 })],
        ['INVALID_LIMIT', () => service.list({ limit: 101 })],
        ['INVALID_COUNTS_QUERY', () => service.counts(['a/b'])],
        ['INVALID_ISOLATION', () => service.create({ ...creation('inline-only'), processor: () => 1, isolation: 'thread' } as never)],
      ] as const) {
        await assert.rejects(call(), { code, status: 400 })
        seen.add(code)
      }
    })

    it('rejects what conflicts with the state of a worker', async () => {
      const { run, service } = api()
      await refused('WORKER_EXISTS', 409, ['POST', '/api/workers', creation(`idle-${run}`)])
      for (const verb of ['start', 'restart', 'pause', 'resume', 'jobs']) {
        await refused('WORKER_INACTIVE', 410, ['POST', at('retired', `/${verb}`), {}])
      }
      for (const verb of ['pause', 'resume']) await refused('WORKER_STOPPED', 409, ['POST', at('idle', `/${verb}`)])
      for (const method of ['POST', 'DELETE']) await refused('NODE_NOT_FOUND', 404, [method, '/api/nodes/nobody%3A1%3Aab/drain'])
      await refused('SCHEDULE_NOT_FOUND', 404, ['DELETE', at('idle', '/schedules/%00')])
      for (const id of ['12345', '%C3%A9', '%00', '00000000-0000-0000-0000-00000000000%CC%81'])
        await refused('OPERATION_NOT_FOUND', 404, ['GET', at('idle', `/operations/${id}`)])
      await refused('PROCESSOR_NOT_ISOLATED', 400, [
        'POST',
        '/api/workers',
        creation(`in-code-${run}`, { processor: undefined, isolation: 'thread' }),
      ])
      await service.create({ name: `denied-${run}`, queueName: `codes-${run}`, processor: 'job.mjs', autoStart: false })
      await refused('WORKER_START_DENIED', 409, ['POST', at('denied', '/start')])
      await service.create({ name: `broken-${run}`, queueName: `codes-${run}`, processor: 'broken.mjs', autoStart: false })
      await refused('PROCESSOR_LOAD_FAILED', 422, ['POST', at('broken', '/start')])
    })

    it('rejects what a plugin denies, and does none of it', async () => {
      const { run } = api()
      for (const [name, status, code, plugin] of [
        ['kept', 409, 'WORKER_CHANGE_DENIED', 'it is kept'],
        ['locked', 403, 'WORKER_CHANGE_FORBIDDEN', 'it is locked'],
      ] as const) {
        const { message } = await refused(code, status, ['POST', '/api/workers', creation(`${name}-${run}`)])
        assert.match(message, new RegExp(`"create" .*"${name}-${run}".*${plugin}`))
        assert.equal((await api().call('GET', at(name))).status, 404)
      }
    })

    it('rejects an invalid reason or number of a scale', async () => {
      for (const reason of [7, 'x'.repeat(501)]) {
        await refused('INVALID_SCALE_REASON', 400, ['POST', at('idle', '/scale'), { concurrency: 2, reason }])
      }
      for (const concurrency of [0, 1001, 1.5, '2', undefined]) {
        await refused('INVALID_CONCURRENCY', 400, ['POST', at('idle', '/scale'), { concurrency }])
      }
    })

    it('rejects invalid features and extensions', async () => {
      const { run, service } = api()
      const schema = Type.Object({ perMinute: Type.Integer() }, { additionalProperties: false })
      const declare = (feature: string, version: number) =>
        defineWorkerFeature({ plugin: 'pace', feature, schema, version, upgrade: (data) => data })
      assert.throws(() => service.offerFeature(declare('canary', 1)), { code: 'WORKER_FEATURE_INVALID', message: /^pace: .*"canary"/ })
      const withdraw = service.offerFeature(declare('pacing', 2))
      const paced = (perMinute: unknown) => creation(`paced-${run}`, { extensions: { pace: { perMinute } } })
      assert.match(
        (await refused('INVALID_EXTENSION', 400, ['POST', '/api/workers', paced('many')])).message,
        /"extensions.pace.perMinute"/,
      )
      assert.equal((await api().call('POST', '/api/workers', paced(5))).status, 201)
      const worker = await service.get(`paced-${run}`)
      assert.throws(() => declare('pacing', 1).of(worker), { code: 'WORKER_EXTENSION_UNREADABLE' })
      withdraw()
      for (const code of ['WORKER_FEATURE_INVALID', 'WORKER_EXTENSION_UNREADABLE']) seen.add(code)
    })

    it('fails an attempt that takes too long', async () => {
      const { host, run, service } = api()
      const name = `late-${run}`
      await service.create({
        name,
        queueName: name,
        processor: () => new Promise(() => undefined),
        jobOptions: { attempts: 1, timeout: 1 },
      })
      await service.enqueue(name, 1)
      await api().until(at('late', '/metrics'), (body) => body.metrics.failed === 1)
      const failed = host.recorded('onJobFailed').filter(([worker]) => worker === name)
      assert.deepEqual(
        failed.map(([, , error]) => (error as { readonly code?: string }).code),
        ['JOB_TIMEOUT'],
      )
      seen.add('JOB_TIMEOUT')
    })

    versionCodesContract({ api, at, refused })

    it('rejects jobs and schedules that do not exist, have ended or cannot be changed now', async () => {
      const { run, service } = api()
      for (const path of ['/jobs/12345', '/jobs/nothing', '/jobs/%00', '/jobs/%C3%A9'])
        await refused('JOB_NOT_FOUND', 404, ['GET', at('idle', path)])
      await refused('JOB_NOT_FOUND', 404, ['POST', at('idle', '/jobs/12345/cancel')])
      for (const id of ['hourly', '%00', '%C3%A9', '%F0%9F%8E%88'])
        await refused('SCHEDULE_NOT_FOUND', 404, ['DELETE', at('idle', `/schedules/${id}`)])
      await refused('WORKER_NOT_FOUND', 404, ['POST', at('idle', '/jobs'), { children: [{ worker: `nobody-${run}` }] }])

      await service.create({ name: `sealed-${run}`, queueName: `sealed-${run}`, processor: 'job.mjs' })
      const { id } = await service.enqueue(`sealed-${run}`, 1)
      await api().until(at('sealed', '/metrics'), (body) => body.metrics.counts.completed === 1)
      await refused('JOB_FINISHED', 409, ['POST', at('sealed', `/jobs/${id}/cancel`)])
      await refused('JOB_PAYLOAD_UNREADABLE', 500, ['GET', at('sealed', `/jobs/${id}`)])

      const { schedule } = (await api().call('PUT', at('idle', '/schedules/yearly'), { pattern: '0 0 1 1 *' })).body
      const scheduled = encodeURIComponent(`repeat:idle-${run}~yearly:${Date.parse(schedule.nextAt)}`)
      await refused('WORKER_HAS_SCHEDULES', 409, ['PUT', at('idle'), { queueName: 'another-queue' }])
      await refused('JOB_SCHEDULED', 409, ['POST', at('idle', `/jobs/${scheduled}/cancel`)])
    })

    it('rejects a schedule whose job for that time is running', async () => {
      const { host, run, service } = api()
      let begin: () => void = () => undefined
      let end: () => void = () => undefined
      const begun = new Promise<void>((resolve) => {
        begin = resolve
      })
      const over = new Promise<void>((resolve) => {
        end = resolve
      })
      await service.create({ name: `busy-${run}`, queueName: `busy-${run}`, processor: () => (begin(), over) })
      const yearly = { pattern: '0 0 1 1 *' }
      const { schedule } = (await api().call('PUT', at('busy', '/schedules/yearly'), yearly)).body
      const job = await host
        .service(queuesService)
        .queue(`busy-${run}`)
        .getJob(`repeat:busy-${run}~yearly:${Date.parse(schedule.nextAt)}`)
      await job?.promote()
      await begun
      assert.equal((await api().call('DELETE', at('busy', '/schedules/yearly'))).status, 200)
      await refused('SCHEDULE_BUSY', 409, ['PUT', at('busy', '/schedules/yearly'), yearly])
      end()
    })

    it('reports that others keep changing the same worker', async () => {
      const { host, run, service } = api()
      const kv = host.service(kvService)
      let contended = false
      // Updates of this store are conditional on the version that was read; here another change always comes first.
      const client = new Proxy(kv, {
        get(target, key) {
          if (key === 'driver') return 'database'
          if (key === 'set')
            return (...args: Parameters<typeof kv.set>) => (contended && args[2]?.ifValue !== undefined ? false : target.set(...args))
          const value = target[key as keyof typeof target]
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
      const infrastructure = { persistence: { driver: 'kvstore' as const, keyPrefix: `contended-${run}`, client } }
      await service.create({ name: `wanted-${run}`, queueName: `codes-${run}`, processor: 'job.mjs', autoStart: false, infrastructure })
      contended = true
      await refused('WORKER_CHANGED', 409, ['POST', at('wanted', '/start')])
      contended = false
      assert.equal((await api().call('POST', at('wanted', '/start'))).status, 200)
    })

    it('has no code without a case in this contract or in the test named for it', async () => {
      const codes = Object.keys(workerErrors)
      assert.deepEqual(
        codes.filter((code) => !seen.has(code) && !Object.hasOwn(testedElsewhere, code)),
        [],
      )
      for (const [code, file] of Object.entries(testedElsewhere)) {
        const text = await readFile(`${import.meta.dirname}/${file}`, 'utf8')
        assert.ok(codes.includes(code) && new RegExp(`\\b${code}\\b`).test(text), `${code} in ${file}`)
      }
    })
  })
}
