import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Connection as MysqlSocket } from 'mysql2'
import { openSocket, query } from 'zin/plugins/database'
import { scanSql } from 'zin/plugins/sql-wire'
import { type MysqlServer, mysqlServer } from '../../scripts/testing/mysql-server.js'
import fc from '../../scripts/testing/properties.js'

const statements = 4_000
const secret = 'the content of a file of the server'

/** Ends where the lexer of the server ends it, not where it seems to. */
const values = fc.oneof(
  fc.constantFrom(
    ...['1', '1.', '.5', '1.5', '1e5', '1.e5', '1.5e-3', '1e', '1.e', '0x41', '0X41', '0x', '0b01', '0b2', '1a', '1e5e', '1.5.5', '00'],
    ...['\\N', '@a', '@@version', '@`a`', "@'a'", '`x`', "'x'", '"x"', "x'41'", "b'1'", "n'x'", "_utf8mb4'x'", "'a' 'b'", 'null', 'true'],
    ...["'it''s'", "'it\\'s'", "'\\\\'", '"a""b"', '"\\""', '`a``b`', "''", "'/*'", '"-- "', "'#'", "'into outfile'", '`into`', '$x', 'é'],
    ...['(select 1)', '(1.)', 'version()', 'current_date', '-1', '- -1', '1--1', '1-- -1\n', '1/**/', '1/*!*/', '1#\n', '1.-1', '!1.'],
  ),
  fc.stringMatching(/^[0-9]{1,2}[.eExb0-9]{0,3}[+-]?[0-9a-fA-F]{0,2}$/),
)
const spaces = fc.constantFrom(
  ...[
    '',
    ' ',
    '\n',
    '\t',
    '\r',
    '\f',
    '\v',
    '/**/',
    '/* x */',
    '-- \n',
    '--\n',
    '--\t x\n',
    '# x\n',
    '#\n',
    '/*!*/',
    '/*! */',
    '/*!99999 x */',
  ],
  ...['/*M!*/', '\u00a0', '\u3000', '\ufeff', '\u007f', '\\', '/*/', '/*+ x */', "/*'*/", '/*"*/ ', "-- '\n", "#'\n", '.', ',', '\0', '+'],
)
/** Often none, because then the lexer decides where a word begins. */
const gaps = fc.oneof({ weight: 2, arbitrary: fc.constant('') }, { weight: 1, arbitrary: spaces })

describe('the proxy reads SQL as MariaDB does', () => {
  const folder = mkdtempSync(join(tmpdir(), 'zin-tokens-'))
  const file = join(folder, 'secret')
  let server: MysqlServer
  let socket: MysqlSocket
  before(async () => {
    chmodSync(folder, 0o755)
    writeFileSync(file, secret, { mode: 0o644 })
    server = await mysqlServer()
    const { DB_HOST: host, DB_PORT, DB_DATABASE: database, DB_USERNAME: user, DB_PASSWORD: password } = server.env
    socket = await openSocket({ host, port: Number(DB_PORT), database, user, password, charset: 'utf8mb4' }, 10_000)
  })
  after(async () => {
    socket.destroy()
    await server.stop()
    rmSync(folder, { recursive: true })
  })

  /** What the server does with a statement. */
  const outcome = async (sql: string): Promise<'file' | 'harmless' | 'refused'> => {
    try {
      const rows = await query<object>(socket, sql)
      return rows.some((row) => Object.values(row).some((value) => String(value).includes(secret))) ? 'file' : 'harmless'
    } catch (error) {
      // It tried to write: the folder does not exist, which is an error of the system, or of --secure-file-priv.
      return [1, 1290].includes((error as { readonly errno?: number }).errno ?? 0) ? 'file' : 'refused'
    }
  }
  const mayPass = (sql: string): boolean => {
    const scan = scanSql(sql, 'mysql')
    return !(scan.unterminated || scan.statements !== 1 || scan.executableComment || scan.writesFile || scan.selectsInto || scan.readsFile)
  }
  const tails = fc.oneof(
    fc.constantFrom("into outfile '/no/folder/x'", "INTO/**/DUMPFILE '/no/folder/x'", 'into', 'outfile', "into outfile'/no/folder/x'"),
    fc
      .tuple(fc.constantFrom('load_file', 'LOAD_FILE', '`load_file`', 'lóad_file', 'load_filé', '`LÓAD_FILE`'), gaps)
      .map(([name, gap]) => `, ${name}${gap}('${file}')`),
    fc.constantFrom(
      "'into outfile'",
      '"into outfile \'/no/folder/x\'"',
      '`into outfile`',
      "-- into outfile '/no/folder/x'",
      "/* into outfile '/x' */",
    ),
    fc.constant(''),
  )
  const sql = fc
    .tuple(fc.array(fc.tuple(values, gaps), { minLength: 1, maxLength: 4 }), fc.constantFrom(',', ', ', '+', '=', ' ', ''), gaps, tails)
    .map(([some, separator, gap, tail]) => `select ${some.map(([value, after]) => `${value}${after}`).join(separator)}${gap}${tail}`)

  it(`in ${statements} statements: none that it lets pass reads or writes a file, and none that runs without doing so is refused for it`, async () => {
    const seen = { file: 0, harmless: 0, refused: 0 }
    for (const one of fc.sample(sql, statements)) {
      const found = await outcome(one)
      seen[found]++
      if (found === 'file') assert.equal(mayPass(one), false, `it reaches a file: ${JSON.stringify(one)}`)
      const { executableComment, readsFile, selectsInto, writesFile } = scanSql(one, 'mysql')
      if (found === 'harmless' && !executableComment && !/load_f|ad_file/i.test(one))
        assert.deepEqual(
          { readsFile, selectsInto, writesFile },
          { readsFile: false, selectsInto: false, writesFile: false },
          JSON.stringify(one),
        )
    }
    assert.ok(seen.file > 100 && seen.harmless > 100, JSON.stringify(seen))
  })
})
