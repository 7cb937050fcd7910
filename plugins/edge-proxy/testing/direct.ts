import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createHeaders } from 'zin/signer'
import { openSqliteBinding, type SqliteBinding } from '../local/sqlite-binding.js'
import { type EdgeSettings, readConfig } from '../worker/config.js'
import type { EdgeBinding } from '../worker/d1.js'
import { createHandler } from '../worker/handler.js'
import type { EdgeResponse } from '../worker/request.js'
import { timedDatabase } from '../worker/timed-database.js'
import { testSecret } from './edge-client.js'

/** The handler without a server, with a clock set by the test. */
export interface Direct {
  readonly db: SqliteBinding
  /** ms since 1970. */
  now: number
  send(
    path: string,
    body: unknown,
    signed?: { readonly keyId?: string; readonly timestamp?: number; readonly nonce?: string },
  ): Promise<EdgeResponse>
}

/** @param over wraps the binding. */
export async function direct(t: TestContext, settings: EdgeSettings = {}, over?: (db: EdgeBinding) => EdgeBinding): Promise<Direct> {
  const folder = await mkdtemp(join(tmpdir(), 'zin-edge-'))
  const db = await openSqliteBinding(join(folder, 'edge.db'))
  t.after(async () => {
    await db.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  })
  const config = await readConfig({ EDGE_REMOTE_SECRET: testSecret, EDGE_REMOTE_MODE: 'sql', ...settings })
  const made: Direct = {
    db,
    now: 1_800_000_000_000,
    async send(path, body, { keyId = 'tests', timestamp = made.now, ...signed } = {}) {
      const text = JSON.stringify(body)
      const pathname = `/svc/edge/${path}`
      const headers = await createHeaders({ method: 'POST', url: pathname, body: text, keyId, secret: testSecret, timestamp, ...signed })
      const all = Object.entries({ ...headers, 'content-type': 'application/json' }).flat()
      return handle({ method: 'POST', pathname, search: '', headers: all, body: async () => new TextEncoder().encode(text) })
    },
  }
  const handle = createHandler({ db: over === undefined ? db : timedDatabase(over(db)), config, now: () => made.now })
  return made
}
