import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingPrivileges } from './grants.js'

const to = 'TO `app`@`%`'
const rows = 'SELECT, INSERT, UPDATE, DELETE'
const all = `${rows}, CREATE, ALTER, INDEX, DROP`
const tables = ['CREATE', 'ALTER', 'INDEX', 'DROP']

/** What the grants are, and what is missing on the database `shop_1`: to work on rows, and besides that for migrations. */
const cases: readonly (readonly [
  what: string,
  grants: readonly string[],
  forRows: readonly string[] | undefined,
  forTables?: readonly string[],
])[] = [
  ['everything everywhere', [`GRANT ALL PRIVILEGES ON *.* ${to} IDENTIFIED BY PASSWORD '*0' WITH GRANT OPTION`], []],
  ['everything on the database', [`GRANT USAGE ON *.* ${to}`, `GRANT ALL PRIVILEGES ON \`shop\\_1\`.* ${to}`], []],
  ['each privilege', [`GRANT ${all} ON \`shop_1\`.* ${to}`], []],
  ['each privilege, in lower case', [`grant ${all.toLowerCase()} on \`shop_1\`.* to app`], []],
  ['privileges of several lines', [`GRANT SELECT, INSERT ON *.* ${to}`, `GRANT UPDATE, DELETE ON \`shop_1\`.* ${to}`], [], tables],
  ['rows only', [`GRANT ${rows} ON \`shop_1\`.* ${to}`], [], tables],
  ['reading only', [`GRANT SELECT ON \`shop_1\`.* ${to}`], ['INSERT', 'UPDATE', 'DELETE'], ['INSERT', 'UPDATE', 'DELETE', ...tables]],
  ['nothing', [`GRANT USAGE ON *.* ${to}`], rows.split(', '), all.split(', ')],
  ['no line', [], rows.split(', '), all.split(', ')],
  ['those of another database', [`GRANT ALL PRIVILEGES ON \`other\`.* ${to}`], rows.split(', '), all.split(', ')],
  ['those of a database whose name begins alike', [`GRANT ALL PRIVILEGES ON \`shop\`.* ${to}`], rows.split(', '), all.split(', ')],
  ['a pattern that matches', [`GRANT ALL PRIVILEGES ON \`shop%\`.* ${to}`], []],
  ['a pattern with any character', [`GRANT ALL PRIVILEGES ON \`shop__\`.* ${to}`], []],
  ['an escaped character of patterns', [`GRANT ALL PRIVILEGES ON \`sho\\%\`.* ${to}`], rows.split(', '), all.split(', ')],
  ['a dot, which is no pattern', [`GRANT ALL PRIVILEGES ON \`shop.1\`.* ${to}`], rows.split(', '), all.split(', ')],
  ['one table of the database', [`GRANT ALL PRIVILEGES ON \`shop_1\`.\`zin_kv\` ${to}`], rows.split(', '), all.split(', ')],
  ['columns of a table', [`GRANT SELECT (\`id\`), UPDATE (\`id\`) ON \`shop_1\`.\`t\` ${to}`], rows.split(', '), all.split(', ')],
  ['quotes of ANSI mode', [`GRANT ALL PRIVILEGES ON "shop_1".* TO "app"@"%"`], []],
  ['a database in the name of which is a quote', [`GRANT ALL PRIVILEGES ON \`sh\`\`op\`.* ${to}`], rows.split(', '), all.split(', ')],
  ['a role', ['GRANT `writer` TO `app`@`%`', `GRANT USAGE ON *.* ${to}`], undefined],
  ['a role, beside all that is needed', ['GRANT `writer` TO `app`@`%`', `GRANT ${all} ON \`shop_1\`.* ${to}`], []],
  [
    'a privilege that contains the name of another',
    [`GRANT CREATE VIEW, ALTER ROUTINE, SELECT, INSERT, UPDATE, DELETE ON *.* ${to}`],
    [],
    tables,
  ],
  ['a procedure', [`GRANT EXECUTE ON PROCEDURE \`shop_1\`.\`p\` ${to}`], rows.split(', '), all.split(', ')],
]

for (const [what, grants, forRows, forTables = forRows] of cases)
  test(`missing privileges of an account with ${what}`, () => {
    assert.deepEqual(missingPrivileges(grants, 'shop_1', false), forRows)
    assert.deepEqual(missingPrivileges(grants, 'shop_1', true), forTables)
  })
