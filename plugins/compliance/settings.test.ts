import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, get as openStream } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { databaseService } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { queuesService } from 'zin/plugins/queues'
import type { TestHost } from 'zin/testing'
import { eventually } from '../../scripts/testing/eventually.js'
import { auditedApp, payloadKey } from './audit/audit.contract.js'
import { complianceService } from './index.js'
import { complianceSettings } from './settings.js'

const get = async (env: Record<string, string>, path: string) => {
  const { host } = await auditedApp(env)
  try {
    return await host.inject({ method: 'GET', path })
  } finally {
    await host.stop()
  }
}
const key = { APP_KEY: 'k'.repeat(32) }

describe('settings of compliance', () => {
  it('WORKER_AUDIT_LOG=false writes no rows, and actions still run', async (t) => {
    const { host, manage } = await auditedApp({ WORKER_AUDIT_LOG: 'false' })
    t.after(() => host.stop())
    assert.equal(await manage({ action: 'desk.sort', target: 'desk:1' }, async () => 'done'), 'done')
    await host.inject({ method: 'POST', path: '/api/workers', body: { name: 'mails', queueName: 'mails' } })
    const rows = await host.service(databaseService).tables().selectFrom('zin_audit').select('id').execute()
    assert.deepEqual(rows, [])
    const { controls } = await host.service(complianceService).report()
    assert.equal(controls.find(({ id }) => id === 'audit/log')?.state, 'off')
    const listed = new Set(host.host.view.settings().map(({ name }) => name))
    assert.deepEqual(
      Object.keys(complianceSettings).filter((name) => !listed.has(name)),
      [],
    )
  })

  it('WORKER_SOC2 decides whether there is a report, with evidence from the app', async () => {
    const on = await get({}, '/api/compliance/report')
    assert.equal(on.status, 200)
    const { controls, summary } = on.body as { controls: { id: string; evidence: object; gaps: string[] }[]; summary: { gaps: number } }
    assert.equal(controls.filter(({ gaps }) => gaps.length > 0).length >= summary.gaps, true)
    assert.deepEqual(controls.find(({ id }) => id === 'access/operators')?.evidence && summary.gaps > 0, true)
    const off = await get({ WORKER_SOC2: 'false' }, '/api/compliance/report')
    assert.deepEqual([off.status, (off.body as { code?: string }).code], [409, 'REPORT_OFF'])
  })

  it('WORKER_HIPAA refuses to start without encryption, audit or a key, and names what is missing', async () => {
    const on = { WORKER_HIPAA: 'true' }
    const cases = [
      [{ ...on, ...key, WORKER_ENCRYPTION: 'false' }, /WORKER_HIPAA.*WORKER_ENCRYPTION is false/],
      [{ ...on, ...key, WORKER_ENCRYPTION: 'true', WORKER_AUDIT_LOG: 'false' }, /WORKER_HIPAA.*WORKER_AUDIT_LOG is false/],
      [{ ...on, APP_KEY: '', WORKER_ENCRYPTION: 'true' }, /WORKER_HIPAA.*APP_KEY is not set/],
    ] as const
    for (const [env, message] of cases) await assert.rejects(auditedApp(env), message)
  })

  for (const [hipaa, status, endsAfterMinutes] of [
    [true, 403, 2],
    [false, 200, 15],
  ] as const) {
    describe(`WORKER_HIPAA=${hipaa}`, () => {
      let host: TestHost
      before(async () => {
        host = (await auditedApp({ WORKER_HIPAA: `${hipaa}`, WORKER_ENCRYPTION: 'true' }, { hipaaStreamMinutes: 2 })).host
      })
      after(() => host.stop())

      it(`${hipaa ? 'hides payloads from' : 'shows payloads to'} callers without an explicit permission`, async () => {
        const { id } = await host.service(queuesService).add('letters', 'letter', { text: 'marker-4711' })
        const path = `/api/jobs/${id}?include=payload&queue=letters`
        const seen = await host.inject({ method: 'GET', path })
        assert.equal(seen.status, status)
        assert.equal(seen.text.includes('marker-4711'), !hipaa)
        assert.match((await host.inject({ method: 'GET', path, headers: { 'x-api-key': payloadKey } })).text, /marker-4711/)
        const { entries } = await host.service(complianceService).entries({ action: 'payload.view' })
        assert.deepEqual(
          entries.map(({ outcome, reason, target }) => [outcome, reason, target]),
          [
            ['asked', null, `job:letters/${id}`],
            hipaa ? ['refused', 'WORKER_HIPAA', `job:letters/${id}`] : ['asked', null, `job:letters/${id}`],
          ],
        )
      })

      it(`${hipaa ? 'hides results and errors from' : 'shows results and errors to'} them under /api/workers, too, and records each view`, async () => {
        const queues = host.service(queuesService)
        const body = { name: 'mails', queueName: 'results', autoStart: false }
        const created = await host.inject({ method: 'POST', path: '/api/workers', body })
        assert.equal(created.status, 201, created.text)
        queues.worker('results', async ({ name }) => {
          if (name === 'fails') throw new Error('an error with marker-4711')
          return { text: 'marker-4711', password: 'a-password-4711' }
        })
        for (const name of ['completes', 'fails']) {
          const { id = '' } = await queues.add('results', name, {}, { attempts: 1 })
          await eventually('the job has ended', async () => /completed|failed/.test((await queues.job('results', id))?.state ?? ''))
          const shown = await host.inject({ method: 'GET', path: `/api/workers/mails/jobs/${id}` })
          const { job } = shown.body as { job: { status: string; withheld: boolean } }
          assert.deepEqual([shown.status, job.status, job.withheld], [200, name === 'fails' ? 'failed' : 'completed', hipaa])
          assert.equal(shown.text.includes('marker-4711'), !hipaa)
          assert.doesNotMatch(shown.text, /a-password-4711/)
          const { entries } = await host.service(complianceService).entries({ action: 'payload.view', target: `job:results/${id}` })
          const recorded = entries.map(({ outcome }) => outcome)
          assert.deepEqual(recorded, [hipaa ? 'refused' : 'asked'])
          const listed = await host.inject({ method: 'GET', path: '/api/jobs/failed?queue=results' })
          assert.equal(listed.text.includes('an error with marker-4711'), name === 'fails' && !hipaa)
        }
        const { entries } = await host.service(complianceService).entries({ action: 'errors.view' })
        assert.deepEqual(
          entries.map(({ outcome, target }) => [outcome, target]),
          [[hipaa ? 'refused' : 'asked', 'queue:results']],
        )
      })

      it(`ends event streams after ${endsAfterMinutes} minutes`, async (t) => {
        t.mock.timers.enable({ apis: ['setTimeout'] })
        const [response] = (await once(openStream(`${host.url}/api/workers/events`), 'response')) as [IncomingMessage]
        let ended = false
        const over = once(response.resume(), 'end').then(() => {
          ended = true
        })
        // A little of the time passes before the stream opens.
        t.mock.timers.tick((endsAfterMinutes - 1) * 60_000)
        await new Promise((resolve) => setImmediate(resolve))
        assert.equal(ended, false)
        t.mock.timers.tick(60_000)
        await over
      })
    })
  }

  it('WORKER_AUDIT_LOG and WORKER_ENCRYPTION refuse to start in production without a key, and need none when they are off', async () => {
    const env = { NODE_ENV: 'production', APP_KEY: '', JWT_SECRET: 's'.repeat(32) }
    const on = (audit: boolean, encryption: boolean) =>
      auditedApp({ ...env, WORKER_AUDIT_LOG: `${audit}`, WORKER_ENCRYPTION: `${encryption}` }, {}, [jwt()])
    await assert.rejects(on(true, false), /APP_KEY is not set, but WORKER_AUDIT_LOG requires it/)
    await assert.rejects(on(false, true), /WORKER_ENCRYPTION.*APP_KEY|APP_KEY.*WORKER_ENCRYPTION/)
    const { host } = await on(false, false)
    await host.stop()
  })
})
