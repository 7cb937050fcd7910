import { factoryName } from '../util/factory-name.js'

/** What `zin make:<kind>` makes besides plugins. */
export const fileKinds = ['route', 'processor', 'migration', 'command', 'test'] as const
export type FileKind = (typeof fileKinds)[number]

/** The folder of each kind. */
export const foldersOf: Readonly<Record<FileKind, string>> = {
  route: 'routes',
  processor: 'processors',
  migration: 'migrations',
  command: 'commands',
  test: 'tests',
}

export interface FileNames {
  /** As given: `shop/orders`. */
  readonly path: string
  /** The last part of `path`: `orders`. */
  readonly name: string
  /** File that holds the code, without its folder and `.ts`: `orders`, `0001-orders`. */
  readonly file: string
  /** Import of the configuration from the folder of the test. */
  readonly config: string
}

export interface MadeFiles {
  /** The code; none of the kind `test`. */
  readonly code?: string
  readonly test: string
  /** What to add to `zin.config.ts`: what to import, and where to list it. */
  readonly listed?: { readonly imports: string; readonly list: string }
}

/** Texts of the new files. */
export function madeFiles(kind: FileKind, names: FileNames): MadeFiles {
  return templates[kind](names)
}

/** Names whose identifiers would be those that the files import. */
export function isTakenName(kind: FileKind, name: string): boolean {
  return name === 'define' && kind !== 'test' && kind !== 'processor'
}

const templates: Readonly<Record<FileKind, (names: FileNames) => MadeFiles>> = {
  route({ path, name, file }) {
    const route = `${factoryName(name)}Route`
    return {
      listed: { imports: route, list: `routes: [${route}]` },
      code: `import { defineRoute, Type } from 'zin'

export const ${route} = defineRoute({
  method: 'GET',
  path: '/${path}/:id',
  summary: 'Describe what it does',
  params: Type.Object({ id: Type.String({ maxLength: 36 }) }),
  response: { 200: Type.Object({ id: Type.String() }) },
  handler: ({ input }) => ({ id: input.params.id }),
})
`,
      test: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestHost } from 'zin/testing'
import { ${route} } from './${file}.js'

test('GET /${path}/:id returns the id, and refuses one that is too long', async () => {
  const app = await createTestHost({ routes: [${route}] })
  try {
    const found = await app.inject({ method: 'GET', path: '/${path}/42' })
    assert.deepEqual([found.status, found.body], [200, { id: '42' }])
    const refused = await app.inject({ method: 'GET', path: \`/${path}/\${'x'.repeat(37)}\` })
    assert.equal(refused.status, 400)
  } finally {
    await app.stop()
  }
})
`,
    }
  },

  processor({ path, name, file }) {
    const identifier = factoryName(name)
    const type = `${identifier.charAt(0).toUpperCase()}${identifier.slice(1)}`
    return {
      code: `/** The data of a job. */
export interface ${type}Data {
  readonly id: string
}

/** What the processor uses of a job of BullMQ. */
export interface ${type}Job {
  readonly data: ${type}Data
  log(line: string): Promise<unknown>
}

/** Processes one job: what it returns is the result of the job, and an error fails it. */
export default async function process${type}(job: ${type}Job): Promise<{ readonly id: string }> {
  const { id } = job.data
  if (id === '') throw new Error('the job has no id')
  await job.log(\`processing \${id}\`)
  return { id }
}
`,
      test: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import process${type} from './${file}.js'

test('a job of ${path} returns its id, and fails without one', async () => {
  const log = async (): Promise<void> => undefined
  assert.deepEqual(await process${type}({ data: { id: '42' }, log }), { id: '42' })
  await assert.rejects(process${type}({ data: { id: '' }, log }), /has no id/)
})
`,
    }
  },

  migration({ path, name, file }) {
    const migration = `${factoryName(name)}Migration`
    const id = `${file.slice(0, 4)}_${path.replaceAll(/[/-]/g, '_')}`
    // `create-products` makes the table `products`.
    const table = path.replace(/(^|\/)create-/, '$1').replaceAll(/[/-]/g, '_')
    return {
      listed: { imports: migration, list: `migrations: [${migration}]` },
      code: `import { defineMigration } from 'zin/plugins/database'

export const ${migration} = defineMigration({
  id: '${id}',
  up: (db) =>
    db.schema
      .createTable('${table}')
      .ifNotExists()
      .addColumn('id', 'varchar(36)', (column) => column.primaryKey())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute(),
  down: (db) => db.schema.dropTable('${table}').ifExists().execute(),
})
`,
      test: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { database, databaseService } from 'zin/plugins/database'
import { createTestHost } from 'zin/testing'
import { ${migration} } from './${file}.js'

interface Tables {
  ${table}: { id: string; created_at: number }
}

test('the table can be written and read, and the migration can be undone', async () => {
  const app = await createTestHost({ plugins: [database()], migrations: [${migration}] })
  try {
    const tables = app.service(databaseService).tables<Tables>()
    await tables.insertInto('${table}').values({ id: '42', created_at: 1 }).execute()
    assert.deepEqual(await tables.selectFrom('${table}').selectAll().execute(), [{ id: '42', created_at: 1 }])
    await ${migration}.down(tables)
    await assert.rejects(tables.selectFrom('${table}').selectAll().execute(), /${table}/)
  } finally {
    await app.stop()
  }
})
`,
    }
  },

  command({ path, name, file }) {
    const command = `${factoryName(name)}Command`
    const commandName = path.replaceAll('/', ':')
    return {
      listed: { imports: command, list: `commands: [${command}]` },
      code: `import { defineCommand } from 'zin'

export const ${command} = defineCommand({
  name: '${commandName}',
  summary: 'Describe what it does',
  // \`config\` sets the plugins up; \`services\` also starts them; \`running app\` talks to the running process.
  needs: 'config',
  json: true,
  options: { limit: { type: 'int', default: 10, min: 1, summary: 'Maximum number of lines' } },
  run({ host, options, print }) {
    const routes = host.routes().slice(0, options.limit)
    print.table(routes.map(({ method, path }) => ({ method, path })), ['method', 'path'])
  },
})
`,
      test: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestHost } from 'zin/testing'
import { ${command} } from './${file}.js'

test('${commandName} is a command of an app that lists it', async () => {
  const app = await createTestHost({ commands: [${command}] })
  try {
    const { command } = app.host.commands().find((one) => one.command.name === '${commandName}') ?? {}
    assert.equal(command?.summary, ${command}.summary)
  } finally {
    await app.stop()
  }
})
`,
    }
  },

  test: ({ path, config }) => ({
    test: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestHost } from 'zin/testing'
import config from '${config}'

test('${path}: the app starts, and has no such path', async () => {
  // Settings of the app that have no default: env: { NAME: 'value' }
  const app = await createTestHost({ ...config })
  try {
    const response = await app.inject({ method: 'GET', path: '/no-such-path' })
    assert.equal(response.status, 404)
  } finally {
    await app.stop()
  }
})
`,
  }),
}
