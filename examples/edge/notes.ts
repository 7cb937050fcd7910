import { definePlugin, Type } from 'zin'
import { databaseService, defineMigration } from 'zin/plugins/database'

interface Tables {
  notes: { id: string; text: string }
}

const createNotes = defineMigration({
  id: '0001_create_notes',
  up: (db) =>
    db.schema
      .createTable('notes')
      .ifNotExists()
      .addColumn('id', 'varchar(36)', (column) => column.primaryKey())
      .addColumn('text', 'text')
      .execute(),
  down: (db) => db.schema.dropTable('notes').ifExists().execute(),
})

/** Stores notes in the app's database. The code does not depend on whether the database is local or behind a proxy. */
export const notes = definePlugin({
  name: 'notes',
  version: '1.0.0',
  description: 'Notes by id',
  uses: { database: databaseService },
  setup({ migration, route, services }) {
    migration(createNotes)
    route({
      method: 'PUT',
      path: '/notes/:id',
      summary: 'Write a note',
      params: Type.Object({ id: Type.String({ maxLength: 36 }) }),
      body: Type.Object({ text: Type.String({ maxLength: 1000 }) }),
      handler: async ({ input }) => {
        await services.database.upsert('notes', ['id'], { id: input.params.id, text: input.body.text })
        return { id: input.params.id }
      },
    })
    route({
      method: 'GET',
      path: '/notes',
      summary: 'List the notes, at most 100',
      handler: async () => ({
        notes: await services.database.tables<Tables>().selectFrom('notes').selectAll().orderBy('id').limit(100).execute(),
      }),
    })
  },
})
