import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SqlMode } from './testing/sql-mode.js'

type Kind = 'unique' | 'not_null' | 'check' | 'foreign_key'

/** Rows that violate one constraint, by the constraint: its kind, the values of an insert, and what an update of the row 2 sets. */
const violations: Readonly<Record<string, readonly [kind: Kind, values: string, update: string]>> = {
  'the primary key': ['unique', "(1, 'new', 1, 1, 1)", 'id = 1'],
  'a unique column': ['unique', "(10, 'ada', 1, 1, 1)", "name = 'ada'"],
  'not null': ['not_null', "(10, 'new', NULL, 1, 1)", 'must = NULL'],
  'a check': ['check', "(10, 'new', 1, 5000, 1)", 'small = 5000'],
  'a foreign key': ['foreign_key', "(10, 'new', 1, 1, 99)", 'parent = 99'],
}
/** The conflict clauses of SQLite, and the kinds for which each does something else than fail. */
const clauses: Readonly<Record<string, Partial<Record<Kind, 'skips' | 'replaces'>>>> = {
  '': {},
  ABORT: {},
  FAIL: {},
  ROLLBACK: {},
  IGNORE: { unique: 'skips', not_null: 'skips', check: 'skips' },
  REPLACE: { unique: 'replaces' },
}

/** Checks the response to a write that violates a constraint, for every conflict clause and kind of constraint. */
export function describeConstraints({ client, exec }: SqlMode): void {
  const columns = ['must INTEGER NOT NULL', 'small INTEGER CHECK (small < 1000)', 'parent INTEGER REFERENCES held_parents (id)'] as const
  const rows = async (): Promise<string> =>
    (await client.call('query', { sql: 'SELECT * FROM held ORDER BY id' })).text.replace(/,"rowCount".*/s, '')
  const create = async (clause: string): Promise<void> => {
    const on = clause === '' ? '' : ` ON CONFLICT ${clause}`
    const [must, small, parent] = columns
    await exec('CREATE TABLE IF NOT EXISTS held_parents (id INTEGER PRIMARY KEY)')
    await exec('INSERT OR IGNORE INTO held_parents VALUES (1)')
    await exec('DROP TABLE IF EXISTS held')
    await exec(`CREATE TABLE held (id INTEGER PRIMARY KEY${on}, name TEXT UNIQUE${on}, ${must}${on}, ${small}, ${parent})`)
  }
  /** What a write does: its status, kind, and how many rows it changed. */
  const tried = async (name: string, write: string, does: 'skips' | 'replaces' | undefined, kind: Kind): Promise<void> => {
    await exec('DELETE FROM held')
    await exec("INSERT INTO held VALUES (1, 'ada', 1, 1, 1), (2, 'grace', 1, 1, 1)")
    const before = await rows()
    const before5 = { sql: "INSERT INTO held VALUES (5, 'five', 1, 1, 1)" }
    const attempts = [
      await client.call('exec', { sql: write }),
      ...(does === undefined ? [await client.call('exec', { sql: `${write} RETURNING id` })] : []),
      ...(does === undefined ? [await client.call('batch', { statements: [before5, { sql: write }] })] : []),
    ]
    for (const { body, status, text } of attempts) {
      const { changes } = body.meta ?? {}
      assert.deepEqual([status, body.code ?? changes, body.details?.kind], expected(does, kind), `${name}: ${text}`)
    }
    if (does !== 'replaces') assert.equal(await rows(), before, name)
  }

  for (const [clause, instead] of Object.entries(clauses)) {
    it(`responds to each violated constraint with ${clause === '' ? 'no conflict clause' : `OR ${clause}`}`, async () => {
      await create('')
      const or = clause === '' ? '' : `OR ${clause} `
      for (const [constraint, [kind, values, update]] of Object.entries(violations)) {
        await tried(`insert, ${constraint}`, `INSERT ${or}INTO held VALUES ${values}`, instead[kind], kind)
        await tried(`update, ${constraint}`, `UPDATE /* or */ ${or.toLowerCase()}held SET ${update} WHERE id = 2`, instead[kind], kind)
      }
    })

    if (clause === '') continue
    it(`responds to each violated constraint of a table that is created with ON CONFLICT ${clause}`, async () => {
      await create(clause)
      for (const [constraint, [kind, values]] of Object.entries(violations)) {
        // Checks have no conflict clause of their own.
        const does = kind === 'check' ? undefined : instead[kind]
        await tried(constraint, `INSERT INTO held VALUES ${values}`, does, kind)
      }
    })
  }

  it('leaves the name rollback as it is', async () => {
    await exec('CREATE TABLE named (rollback INTEGER, "or" INTEGER)')
    await exec('INSERT INTO named VALUES (1, 2)')
    await exec('UPDATE named SET "or" = 0 OR rollback')
    const { body } = await client.call('query', {
      sql: "SELECT rollback, 'insert or rollback into x' AS text FROM named WHERE 0 OR rollback",
    })
    assert.deepEqual(body.rows, [{ rollback: 1, text: 'insert or rollback into x' }])
  })
}

function expected(does: 'skips' | 'replaces' | undefined, kind: Kind): readonly unknown[] {
  return does === undefined ? [409, 'CONSTRAINT_VIOLATION', kind] : [200, does === 'skips' ? 0 : 1, undefined]
}
