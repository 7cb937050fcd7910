import { defineMigration, ensureIndex, useUnicode } from 'zin/plugins/database'

const jobs = 'zin_subject_jobs'
const erasures = 'zin_erasures'
const pending = 'zin_erasure_jobs'

export const createSubjects = defineMigration({
  id: '0003_create_subjects',
  async up(db) {
    await db.schema
      .createTable(jobs)
      .ifNotExists()
      .addColumn('subject', 'char(43)', (column) => column.notNull())
      .addColumn('queue', 'varchar(100)', (column) => column.notNull())
      .addColumn('job', 'varchar(250)', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('zin_subject_jobs_key', ['subject', 'queue', 'job'])
      .execute()
    await useUnicode(db, jobs)
    await ensureIndex(db, { name: 'zin_subject_jobs_of', table: jobs, columns: ['queue', 'job'] })
    await ensureIndex(db, { name: 'zin_subject_jobs_age', table: jobs, columns: ['at'] })
    await db.schema
      .createTable(erasures)
      .ifNotExists()
      .addColumn('id', 'char(36)', (column) => column.primaryKey())
      .addColumn('subject', 'char(43)', (column) => column.notNull())
      .addColumn('state', 'varchar(20)', (column) => column.notNull())
      .addColumn('erased', 'integer', (column) => column.notNull())
      .addColumn('pending', 'integer', (column) => column.notNull())
      .addColumn('elsewhere', 'integer', (column) => column.notNull())
      .addColumn('error', 'varchar(500)')
      .addColumn('actor', 'text', (column) => column.notNull())
      .addColumn('requested_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .execute()
    await useUnicode(db, erasures)
    await ensureIndex(db, { name: 'zin_erasures_open', table: erasures, columns: ['state', 'updated_at'] })
    await db.schema
      .createTable(pending)
      .ifNotExists()
      .addColumn('erasure', 'char(36)', (column) => column.notNull())
      .addColumn('queue', 'varchar(100)', (column) => column.notNull())
      .addColumn('job', 'varchar(250)', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('zin_erasure_jobs_key', ['erasure', 'queue', 'job'])
      .execute()
    await useUnicode(db, pending)
  },
  async down(db) {
    for (const table of [pending, erasures, jobs]) await db.schema.dropTable(table).ifExists().execute()
  },
})
