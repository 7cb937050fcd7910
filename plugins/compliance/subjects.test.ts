import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { filesWith } from '../../scripts/testing/store-dump.js'
import { subjectsContract } from './subjects.contract.js'
import { complianceApp } from './testing/app.js'

// Without encryption, so that what is left would be seen.
subjectsContract('the embedded stores', { WORKER_ENCRYPTION: 'false' }, filesWith)

it('a subject without declared paths is refused with a 400 that explains how to declare them', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'zin-subjects-'))
  const app = await complianceApp({ env: { WORKER_GDPR: 'true' }, dataDir })
  try {
    for (const [method, path] of [
      ['GET', '/api/compliance/subjects/ann/export'],
      ['DELETE', '/api/compliance/subjects/ann'],
    ] as const) {
      const response = await app.host.inject({ method, path, headers: { 'x-requested-with': 'test' } })
      assert.deepEqual([response.status, JSON.parse(response.text).code], [400, 'SUBJECT_UNDECLARED'])
      assert.match(response.text, /compliance\(\{ subjects: \{ emails: \[/)
    }
  } finally {
    await app.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
})
