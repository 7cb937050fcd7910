import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { bulletproof } from 'zin/plugins/bulletproof'
import { cluster } from 'zin/plugins/cluster'
import { database, databaseService } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { login } from 'zin/plugins/login'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { resources } from 'zin/plugins/resources'
import { workerHealth } from 'zin/plugins/worker-health'
import { workers } from 'zin/plugins/workers'
import { createTestHost } from 'zin/testing'
import { cleanUp } from '../scripts/testing/clean-up.js'

/** MySQL commits with each `create table`, so an interrupted migration must succeed when it runs again. */
export function migrationsContract(store: string, env: Readonly<Record<string, string>>): void {
  it(`migrations of all plugins can run again after a crash on ${store}`, async (t) => {
    const rootDir = await mkdtemp(join(tmpdir(), 'zin-migrations-'))
    const atEnd = cleanUp(t)
    atEnd(() => rm(rootDir, { recursive: true, force: true }))
    const boot = async () => {
      const host = await createTestHost({
        plugins: [
          database(),
          kv(),
          cluster(),
          queues(),
          jwt(),
          bulletproof(),
          login(),
          ops(),
          workers(),
          workerHealth(),
          decisions(),
          resources(),
        ],
        env,
        rootDir,
        dataDir: join(rootDir, 'data'),
      })
      atEnd(() => host.stop())
      return host
    }
    const first = await boot()
    const applied = (await first.service(databaseService).migrations.status()).map(({ plugin }) => plugin)
    assert.deepEqual([...new Set(applied)].sort(), [
      'bulletproof',
      'cluster',
      'decisions',
      'kv',
      'login',
      'resources',
      'worker-health',
      'workers',
    ])
    await first.service(databaseService).tables<{ zin_migrations: object }>().deleteFrom('zin_migrations').execute()
    await first.stop()

    const second = await boot()
    const again = await second.service(databaseService).migrations.status()
    assert.equal(again.length, applied.length)
    assert.deepEqual(
      again.filter(({ status }) => status !== 'applied'),
      [],
    )
  })
}
