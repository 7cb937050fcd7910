import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BaseTables } from './base-tables.js'
import { statelessTables } from './stateless.js'

test('Only reads without variables and with only well-known functions can be stateless', () => {
  for (const sql of ['select id from t where id = ?', 'select count(*), max(a) from t where b in (1, 2)', "select 'get_lock(1)' as a"])
    assert.ok(statelessTables(sql), sql)
  for (const sql of [
    'select @a',
    'select @a := 1',
    'select @@sql_mode',
    "select get_lock('a', 0)",
    'select last_insert_id()',
    'select `f`(1)',
    'select found_rows ()',
    'select a.f(1)',
    'show warnings',
    // Before a space, it is a stored function.
    'select count (*) from t',
    'select sum/**/(a) from t',
    'select * from {oj t left join v on 1}',
  ])
    assert.equal(statelessTables(sql), undefined, sql)
})

test('A read names all of its tables, wherever they stand and however they are written', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['select 1', ''],
    ['select 1 from dual', ''],
    ['select a from t where b = (select max(c) from u)', 't u'],
    ['select a, b from t, v order by a, b', 't v'],
    ['select a from t as x left join v on x.a = v.a, w', 't v w'],
    ['select a from (t, v) join (u)', 't v u'],
    ['select a from (select b from v) as t', 'v'],
    ['select a from t union select b from v', 't v'],
    ['(select a from t) union (select b from v)', 't v'],
    ['select a from t where a in (1, 2) and exists (select 1 from v)', 't v'],
    ['select a from `t` x, `s`.`v`, s.v, s . v, s.`v`, `s`.v', 't s.v s.v s.v s.v s.v'],
    ['select a from `a``b`', 'a`b'],
    ['select a from t /* from x */ -- , y\n, v', 't v'],
    ['select a from t natural join v straight_join w', 't v w'],
    ['with a as (select 1) select * from a', ''],
    ['with a as (select b from v), c as (select * from a) select * from c, a, t', 'v t'],
    // In its own body, the name of a common table expression is that of a table.
    ['with v as (select * from v) select * from v', 'v'],
    ['with recursive v as (select 1 union select * from v) select * from v', 'v'],
    ['select * from (select 1) as x, v', 'v'],
    ['select * from t where a in (select b from (v, w))', 't v w'],
  ]
  for (const [sql, tables] of cases)
    assert.equal(
      statelessTables(sql)
        ?.map(({ schema, table }) => (schema === undefined ? table : `${schema}.${table}`))
        .join(' '),
      tables,
      sql,
    )
  const places = [
    'from #',
    'from t, #',
    'from t join #',
    'from (#)',
    'from (t, (#))',
    'where a in (select b from #)',
    'union select a from #',
  ]
  const names = ['v', '`v`', 's.v', '`s`.`v`', 'S . V', '/* */v']
  for (const place of places)
    for (const name of names) {
      const sql = `select a ${place.replace('#', name)}`
      assert.ok(
        statelessTables(sql)?.some(({ table }) => table.toLowerCase() === 'v'),
        sql,
      )
    }
})

test('Names count as base tables while the list is fresh, in all cases, and not after a schema change', async () => {
  let now = 1000
  let rows = [
    { s: 'db', t: 'T', base: 1 },
    { s: 'db', t: 'Mixed', base: 1 },
    { s: 'db', t: 'mixed', base: '0' },
    { s: 'other', t: 'v', base: 0 },
  ]
  let reads = 0
  let fails = false
  const tables = new BaseTables({
    database: 'db',
    now: () => now,
    read: async () => {
      reads++
      if (fails) throw new Error('the database is away')
      return rows
    },
  })
  const has = (table: string, schema?: string) => tables.has([{ schema, table }])
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  assert.equal(has('tables', 'INFORMATION_SCHEMA'), true)
  assert.equal(reads, 0)
  assert.equal(has('t'), false, 'nothing is known yet')
  await settle()
  assert.deepEqual(
    [has('t'), has('T', 'DB'), has('mixed'), has('v'), has('v', 'other'), has('t', 'other')],
    [true, true, false, false, false, false],
  )
  assert.equal(tables.has([]), true)
  assert.equal(reads, 1)
  tables.forget()
  rows = [{ s: 'db', t: 't', base: 0 }]
  assert.equal(has('t'), false)
  tables.forget()
  await settle()
  assert.equal(has('t'), false, 'read before the last schema change')
  await settle()
  rows = [{ s: 'db', t: 't', base: 1 }]
  now += 10_001
  assert.equal(has('t'), false)
  await settle()
  assert.equal(has('t'), true)
  fails = true
  now += 60_000
  assert.equal(has('t'), true)
  now += 1
  assert.equal(has('t'), false, 'too old')
})
