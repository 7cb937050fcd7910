import assert from 'node:assert/strict'
import { before } from 'node:test'
import type { EdgeClient } from './edge-client.js'
import type { Proxies } from './proxies.js'
import { statements } from './statements.js'

/** A proxy in sql mode with a table `t`, shared by the tests of a suite. */
export interface SqlMode {
  /** Usable once the tests run. */
  readonly client: EdgeClient
  /** Runs a statement that must succeed. */
  exec(sql: string, params?: readonly unknown[]): Promise<void>
}

/** Starts the proxy before the tests of the suite. */
export function sqlMode(proxies: Proxies): SqlMode {
  let started: EdgeClient
  const client: EdgeClient = {
    get url() {
      return started.url
    },
    call: (...request) => started.call(...request),
    sign: (...request) => started.sign(...request),
  }
  const exec: SqlMode['exec'] = async (sql, params = []) => {
    const { status, text } = await client.call('exec', { sql, params })
    assert.equal(status, 200, text)
  }
  before(async () => {
    started = await proxies.start({ EDGE_REMOTE_MODE: 'sql', EDGE_STATEMENTS_JSON: statements })
    await exec('CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER CHECK (n < 1000), parent INTEGER REFERENCES t (id))')
    await exec('INSERT INTO t (id, name, n) VALUES (1, ?, 1), (2, ?, 2)', ['ada', 'grace'])
  })
  return { client, exec }
}

/** Returns the number of rows in a table. */
export async function countOf(client: EdgeClient, table: string): Promise<number> {
  return (await client.call('queryOne', { sql: `SELECT count(*) AS n FROM ${table}` })).body.row.n
}
