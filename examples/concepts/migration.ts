// A migration: the plugin `database` runs it once, before `start`; with DB_MIGRATE=manual, `zin migrate` runs it. `zin migrate --rollback`
// undoes it.
import { definePlugin, Type } from 'zin'
import { databaseService, defineMigration } from 'zin/plugins/database'

interface Tables {
  example_notes: { id: string; text: string }
}

const createNotes = defineMigration({
  id: '0001_create_notes',
  up: (db) =>
    db.schema
      .createTable('example_notes')
      .ifNotExists()
      .addColumn('id', 'varchar(36)', (column) => column.primaryKey())
      .addColumn('text', 'text')
      .execute(),
  down: (db) => db.schema.dropTable('example_notes').ifExists().execute(),
})

export const notes = definePlugin({
  name: 'notes',
  version: '1.0.0',
  uses: { database: databaseService },
  setup({ migration, route, services }) {
    migration(createNotes)
    const tables = () => services.database.tables<Tables>()
    route({
      method: 'PUT',
      path: '/notes/:id',
      summary: 'Write a note',
      params: Type.Object({ id: Type.String({ maxLength: 36 }) }),
      body: Type.Object({ text: Type.String({ maxLength: 1000 }) }),
      handler: async ({ input }) => {
        await services.database.upsert('example_notes', ['id'], { id: input.params.id, text: input.body.text })
        return { id: input.params.id }
      },
    })
    route({
      method: 'GET',
      path: '/notes',
      summary: 'List the notes, at most 100',
      handler: () => tables().selectFrom('example_notes').selectAll().orderBy('id').limit(100).execute(),
    })
  },
})
