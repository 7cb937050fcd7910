import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { decisionsService } from 'zin/plugins/decisions'
import { cleanUp } from '../../../../scripts/testing/clean-up.js'
import { complianceService } from '../../index.js'
import { auditedApp } from '../audit.contract.js'
import { readAnchor } from './read.js'

describe('an app with an anchor file', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'zin-anchored-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('writes its seals there, compares the log with them, and writes the last one when it stops', async (t) => {
    const clean = cleanUp(t)
    const file = join(folder, 'anchor.jsonl')
    const { host, manage } = await auditedApp({ WORKER_AUDIT_ANCHOR_FILE: file })
    clean(() => host.stop())
    await manage({ action: 'desk.sort', target: 'desk:1' })
    const service = host.service(complianceService)
    const report = await service.verify()
    assert.deepEqual([report.fault, report.unconfirmed], [undefined, 0])
    const [, anchor] = service.audit.places
    assert.deepEqual([anchor?.place, anchor?.failingSince, (anchor?.saved ?? 0) >= 1], [`the anchor file ${file}`, null, true])
    const { pagination } = await service.entries()
    await host.stop()
    const [last] = (await (await readAnchor(file)).read([1])).slice(-1)
    assert.deepEqual([last?.entries, last?.closed], [pagination.total, true])
  })

  it('goes on recording while the file cannot be written, and reports that in the status, the decisions and the report', async (t) => {
    const clean = cleanUp(t)
    const { host, manage } = await auditedApp({ WORKER_AUDIT_ANCHOR_FILE: join(folder, 'missing', 'anchor.jsonl') })
    clean(() => host.stop())
    await manage({ action: 'desk.sort', target: 'desk:1' })
    const service = host.service(complianceService)
    assert.equal((await service.entries({ target: 'desk:1' })).entries.length, 2)
    await assert.rejects(service.verify(), { code: 'AUDIT_ANCHOR_UNREADABLE' })
    const [, anchor] = service.audit.places
    assert.notEqual(anchor?.failingSince, null)
    assert.equal(service.audit.downSince, null)
    await host.service(decisionsService).flush()
    const { decisions } = await host.service(decisionsService).list({ kind: 'alert' })
    assert.deepEqual(
      decisions.map(({ rule, verdict }) => [rule, verdict]),
      [['compliance/audit-seals', 'raised']],
    )
    const { controls } = await service.report()
    const chain = controls.find(({ id }) => id === 'audit/chain')
    assert.equal(chain?.state, 'gap')
    assert.match(chain?.gaps.join('\n') ?? '', /^Seals cannot be written to the anchor file \S+missing\S+ since /m)
  })

  it('does not start with an anchor URL and no secret', async () => {
    const env = { WORKER_AUDIT_ANCHOR_URL: 'https://seals.example/x', WORKER_AUDIT_ANCHOR_SECRET: 'short' }
    await assert.rejects(auditedApp(env), /WORKER_AUDIT_ANCHOR_SECRET must have at least 24 bytes/)
  })
})
