import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { databaseService } from 'zin/plugins/database'
import { kvService } from 'zin/plugins/kv'
import { cleanUp } from '../../../scripts/testing/clean-up.js'
import { complianceService } from '../index.js'
import { keysFor } from '../keys.js'
import { auditedApp } from './audit.contract.js'
import { registerChain, withoutStart } from './chain.js'
import { idOf, numberOf } from './entry.js'
import { SecondPlace } from './places/second-place.js'
import { databaseStore } from './store/db.js'

/** Entries of the audit log, removed as retention does by someone who has the current key, and added where retention did, on a store. */
export function removedContract(title: string, settings: () => Readonly<Record<string, string>>): void {
  let known: Readonly<Record<string, string>> | undefined
  // One app, which owns its database.
  const env = () => (known ??= settings())
  it(`entries that were removed as if by retention are missed on ${title}: by kv, and by the anchor after kv was changed, too`, async (t) => {
    const clean = cleanUp(t)
    const folder = await mkdtemp(join(tmpdir(), 'zin-audit-removed-'))
    clean(() => rm(folder, { recursive: true, force: true }))
    const { host, manage } = await auditedApp({ WORKER_AUDIT_ANCHOR_FILE: join(folder, 'anchor.jsonl'), ...env() })
    clean(() => host.stop())
    for (let number = 0; number < 3; number++) await manage({ action: 'desk.sort', target: `desk:${number}` })
    const service = host.service(complianceService)
    assert.equal((await service.verify()).fault, undefined)
    const store = databaseStore(host.service(databaseService))
    const chain = await store.chain(1)
    const [, , third] = await store.entries({ after: 0, to: idOf(1, 3), limit: 3 })
    assert.ok(chain !== undefined && third !== undefined)
    assert.deepEqual(await store.hashes([third.id, idOf(1, 999)]), new Map([[third.id, third.hash]]))
    const { current } = keysFor('audit', { APP_KEY: 'k'.repeat(32), APP_KEY_BK: '' })
    const start = { purged: numberOf(third.id), purgedHash: third.hash }
    await store.purge(withoutStart(current, chain, start), idOf(1, 1), third.id)
    assert.match((await service.verify()).fault?.problem ?? '', /^entries 1000000001 to 1000000003 are missing, but kv does not know/)
    await new SecondPlace(host.service(kvService)).moveStart(1, 3)
    assert.match(
      (await service.verify()).fault?.problem ?? '',
      /^entr.* missing, but cannot have been deleted by retention: the anchor file \S+ knows that they were written after 20/,
    )
  })

  it(`entries that are added where retention deleted some are named on ${title}`, async (t) => {
    const clean = cleanUp(t)
    const { host, manage } = await auditedApp(env())
    clean(() => host.stop())
    for (let number = 0; number < 3; number++) await manage({ action: 'desk.sort', target: `desk:${number}` })
    const service = host.service(complianceService)
    const store = databaseStore(host.service(databaseService))
    const register = await store.chain(registerChain)
    const chain = await store.chain(register?.entries ?? 0)
    assert.ok(chain !== undefined)
    const [first, , third] = await store.entries({ after: idOf(chain.chain, 0), to: idOf(chain.chain, 3), limit: 3 })
    assert.ok(first !== undefined && third !== undefined)
    const { current } = keysFor('audit', { APP_KEY: 'k'.repeat(32), APP_KEY_BK: '' })
    await new SecondPlace(host.service(kvService)).moveStart(chain.chain, 3)
    await store.purge(withoutStart(current, chain, { purged: 3, purgedHash: third.hash }), first.id, third.id)
    assert.equal((await service.verify()).fault, undefined)
    const db = host.service(databaseService).tables()
    const values = {
      id: idOf(chain.chain, 2),
      at: 4711,
      action: 'desk.sort',
      target: 'desk:1',
      outcome: 'done',
      actor: 'user:innocent',
      via: 'http',
    }
    await db
      .insertInto('zin_audit')
      .values({ ...values, hash: 'a'.repeat(64) })
      .execute()
    const { fault, faultCount } = await service.verify()
    const problem = `entry ${values.id} was added where retention had deleted the start of chain ${chain.chain}`
    assert.deepEqual([fault, faultCount], [{ id: values.id, problem }, 1])
    await db.deleteFrom('zin_audit').where('id', '=', values.id).execute()
    assert.equal((await service.verify()).fault, undefined)
  })
}
