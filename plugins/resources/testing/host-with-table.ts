import { definePlugin } from 'zin'
import { database, databaseService } from 'zin/plugins/database'
import { createTestHost, type TestHost } from 'zin/testing'
import { createResources } from '../migrations/0001-create-resources.js'

/** An app with the history table, on the database configured by the environment. */
export function hostWithTable(env: Readonly<Record<string, string>> = {}): Promise<TestHost> {
  const tables = definePlugin({
    name: 'resources',
    version: '1.0.0',
    uses: { database: databaseService },
    setup: (ctx) => ctx.migration(createResources),
  })
  return createTestHost({ plugins: [database(), tables()], env })
}
