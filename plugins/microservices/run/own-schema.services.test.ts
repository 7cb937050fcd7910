import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it, type TestContext } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { freePort } from '../../../scripts/testing/free-port.js'
import { mysqlDatabase } from '../../../scripts/testing/mysql-database.js'
import { servicesApp } from '../testing/services-app.js'

const database = mysqlDatabase('schema')
const schema = `${database.name}_my_notes`
const user = `zin_${randomUUID().slice(0, 8)}`
const plugin = import.meta.resolve('zin/plugins/database')

async function sql(...statements: readonly string[]): Promise<unknown> {
  const { DB_HOST, DB_PASSWORD, DB_PORT, DB_USERNAME } = database.env
  const connection = await createConnection({ host: DB_HOST, port: Number(DB_PORT), user: DB_USERNAME, password: DB_PASSWORD })
  try {
    let rows: unknown
    for (const statement of statements) [rows] = await connection.query(statement)
    return rows
  } finally {
    await connection.end()
  }
}

async function start(t: TestContext, env: Readonly<Record<string, string>>) {
  // Services inherit the environment of the process.
  const before = { ...process.env }
  Object.assign(process.env, database.env, env)
  t.after(() => {
    process.env = before
  })
  const { services } = await servicesApp(t, {
    files: {
      'a/my-notes/service.config.json': { name: 'my-notes', port: await freePort(), database: { isolation: 'isolated' } },
      'a/my-notes/index.mjs': `import { database } from ${JSON.stringify(plugin)}\nexport default { plugins: [database()] }\n`,
    },
    options: { restarts: 0 },
  })
  const [service] = services.list()
  return { state: service?.state, reason: service?.instances[0]?.reason ?? '', services }
}

describe('the schema of an isolated service on a server', () => {
  before(async () => {
    await database.create()
    await sql(`create user '${user}'@'%' identified by 'secret'`, `grant all privileges on ${database.name}.* to '${user}'@'%'`)
  })
  after(async () => {
    await sql(`drop database if exists ${schema}`, `drop user '${user}'@'%'`)
    await database.drop()
  })

  it('is not created by a user without the privilege, and the error has the statements to run', async (t) => {
    const limited = { DB_USERNAME: user, DB_PASSWORD: 'secret' }
    const { reason, services, state } = await start(t, limited)
    assert.equal(state, 'failed')
    const [, statements = ''] = /Run on the server: (.*); it is not restarted automatically/.exec(reason) ?? []
    assert.ok(statements.includes(`create database if not exists \`${schema}\` character set utf8mb4`), reason)
    assert.ok(!reason.includes('secret'))
    await sql(...statements.split('; '))
    assert.equal((await services.startService('my-notes')).state, 'running')
    await services.stopService('my-notes')
    await sql(`drop database ${schema}`)
  })

  it('is created unless DB_MIGRATE=manual', async (t) => {
    const manual = await start(t, { DB_MIGRATE: 'manual' })
    assert.match(manual.reason, /does not exist, and DB_MIGRATE is manual\. Run on the server: create database/)
    const auto = await start(t, { DB_MIGRATE: 'auto' })
    assert.equal(auto.state, 'running', auto.reason)
    assert.equal(((await sql(`show databases like '${schema}'`)) as unknown[]).length, 1)
  })
})
