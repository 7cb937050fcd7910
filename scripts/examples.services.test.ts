import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { type Env, linkPackages, runCli, runNode, temporaryFolder } from './app-process.js'
import { mysqlEnv } from './testing/mysql-database.js'

it('examples/full lets the tour through on Redis and MariaDB, twice', async () => {
  const temporary = temporaryFolder()
  try {
    const made = await runCli(['new', 'app', '--example', 'full'], temporary.path)
    assert.equal(made.code, 0, made.stderr)
    const folder = join(temporary.path, 'app')
    linkPackages(folder)
    for (const _round of [1, 2]) {
      const { code, stdout, stderr } = await runNode(['--import', 'tsx', 'scripts/tour.ts', '--start'], folder, servers())
      assert.equal(code, 0, stdout + stderr)
    }
  } finally {
    temporary.remove()
  }
})

function servers(): Env {
  const { TEST_REDIS_URL, TEST_MYSQL_URL } = process.env
  assert.ok(TEST_REDIS_URL && TEST_MYSQL_URL, 'TEST_REDIS_URL and TEST_MYSQL_URL are not set; run npm test')
  return { REDIS_URL: TEST_REDIS_URL, ...mysqlEnv() }
}
