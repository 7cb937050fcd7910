import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { databaseService } from 'zin/plugins/database'
import { queuesService } from 'zin/plugins/queues'
import { auditedApp } from './audit/audit.contract.js'
import { complianceService } from './index.js'

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
  it('WORKER_AUDIT_LOG=false writes no row, and actions are done', async (t) => {
    const { host, manage } = await auditedApp({ WORKER_AUDIT_LOG: 'false' })
    t.after(() => host.stop())
    assert.equal(await manage({ action: 'desk.sort', target: 'desk:1' }, async () => 'done'), 'done')
    await host.inject({ method: 'POST', path: '/api/workers', body: { name: 'mails', queueName: 'mails' } })
    const rows = await host.service(databaseService).tables().selectFrom('zin_audit').select('id').execute()
    assert.deepEqual(rows, [])
    const { controls } = await host.service(complianceService).report()
    assert.equal(controls.find(({ id }) => id === 'audit/log')?.state, 'off')
  })

  it('WORKER_SOC2 decides whether there is a report, with evidence from the app', async () => {
    const on = await get({}, '/api/compliance/report')
    assert.equal(on.status, 200)
    const { controls, summary } = on.body as { controls: { id: string; evidence: object; gaps: string[] }[]; summary: { gaps: number } }
    assert.equal(controls.filter(({ gaps }) => gaps.length > 0).length >= summary.gaps, true)
    assert.deepEqual(controls.find(({ id }) => id === 'access/operators')?.evidence && summary.gaps > 0, true)
    assert.equal((await get({ WORKER_SOC2: 'false' }, '/api/compliance/report')).status, 404)
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

  it('WORKER_HIPAA hides payloads from callers who were not granted them by name, and nobody else does', async (t) => {
    for (const hipaa of ['true', 'false']) {
      const { host } = await auditedApp({ WORKER_HIPAA: hipaa, WORKER_ENCRYPTION: 'true' })
      t.after(() => host.stop())
      const { id } = await host.service(queuesService).add('letters', 'letter', { text: 'marker-4711' })
      const { body, status } = await host.inject({ method: 'GET', path: `/api/jobs/${id}?include=payload&queue=letters` })
      assert.equal(status, hipaa === 'true' ? 403 : 200)
      assert.equal(JSON.stringify(body).includes('marker-4711'), hipaa === 'false')
    }
  })

  it('WORKER_DATA_RETENTION decides from what time on data are deleted', async (t) => {
    for (const days of ['1', '90']) {
      const { host, manage } = await auditedApp({ WORKER_DATA_RETENTION: days })
      t.after(() => host.stop())
      await manage({ action: 'desk.sort', target: 'desk:1' })
      await host.service(complianceService).entries()
      const { body } = await host.inject({ method: 'POST', path: '/api/compliance/retention/run', body: {} })
      const age = Date.now() - Date.parse(body.before as string)
      assert.ok(Math.abs(age - Number(days) * 86_400_000) < 60_000)
      assert.deepEqual([body.entries, body.problems, body.history], [0, [], ['decisions.records']])
      assert.equal((await host.service(complianceService).verify()).intact, true)
      assert.equal((await host.service(complianceService).entries({ action: 'retention.purge' })).entries[0]?.outcome, 'done')
    }
  })
})
