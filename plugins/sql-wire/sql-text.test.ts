import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commitsImplicitly, readFault, type SqlKind, scanSql } from './sql-text.js'

const mysql = (sql: string) => scanSql(sql, 'mysql')
const sqlite = (sql: string) => scanSql(sql, 'sqlite')

test('The kind of a statement is found after comments, parentheses and common table expressions', () => {
  const cases: readonly (readonly [string, SqlKind])[] = [
    ['select 1', 'read'],
    ['  /* a */ -- b\n # c\n (select 1) union (select 2)', 'read'],
    ['with a as (select 1) select * from a', 'read'],
    ['with a as (select 1) delete from t', 'write'],
    ['with recursive a(x) as (select 1 union select 2) update t set x = 1', 'write'],
    ['insert into t values (1)', 'write'],
    ['create table t (id int)', 'ddl'],
    ['/*! create */ table t (id int)', 'ddl'],
    ['set @a = 1', 'control'],
    ['begin', 'control'],
    ['call p()', 'control'],
    ['show tables', 'read'],
    ['', 'unknown'],
    [';', 'unknown'],
    ['123', 'unknown'],
  ]
  for (const [sql, kind] of cases) assert.equal(mysql(sql).kind, kind, sql)
  assert.equal(sqlite('pragma table_info(t)').kind, 'pragma')
  assert.equal(sqlite('attach database "x" as y').kind, 'control')
})

test('What follows EXPLAIN is judged as the statement itself', () => {
  const ofSqlite = [
    'select 1',
    'with a as (select 1) delete from t',
    'insert into t values (1)',
    'pragma query_only = on',
    "attach 'x' as y",
    'vacuum',
    'begin',
    'create temp view t as select 1',
    'drop table t',
    'nonsense',
  ]
  for (const sql of ofSqlite)
    for (const prefix of ['explain ', 'EXPLAIN QUERY PLAN ', '/* a */explain--\n', ' explain/**/query /* b */ plan ']) {
      const [plain, scan] = [sqlite(sql), sqlite(`${prefix}${sql}`)]
      assert.deepEqual(
        [scan.kind, scan.verb, scan.temporary, scan.keyword],
        [plain.kind, plain.verb, plain.temporary, 'EXPLAIN'],
        prefix + sql,
      )
      assert.equal(readFault(scan), readFault(plain), prefix + sql)
    }
  const ofMysql = [
    'select 1',
    '(select 1)',
    'with a as (select 1) select * from a',
    'insert into t values (1)',
    'delete from t',
    'replace t select 1',
  ]
  for (const sql of ofMysql)
    for (const prefix of [
      'explain ',
      'desc ',
      'describe extended ',
      'explain format=json ',
      'explain analyze ',
      'analyze format = json ',
      'analyze ',
    ])
      assert.equal(mysql(prefix + sql).kind, mysql(sql).kind, prefix + sql)
  for (const sql of [
    'analyze table t',
    'analyze local table t persistent for columns (a) indexes ()',
    'analyze table t update histogram on a',
  ])
    assert.equal(mysql(sql).kind, 'ddl', sql)
  for (const sql of ['desc t', 'describe db.t a', 'explain `update`', 'desc connection']) assert.equal(mysql(sql).kind, 'read', sql)
  assert.equal(mysql('explain format=json for connection 7').kind, 'unknown')
})

test('Temporary objects are found in SQLite', () => {
  for (const sql of [
    'create temp table t (a)',
    'create temporary view t as select 1',
    'create table temp.t (a)',
    'create unique index if not exists "TEMP" . i on t (a)',
    'create trigger [temp].t after insert on t begin select 1',
    "create virtual table 'temp'.t using fts5(a)",
  ])
    assert.ok(sqlite(sql).temporary, sql)
  for (const sql of [
    'create table t (temp text)',
    'create table temperature.t (a)',
    'create view v as select temp.a from t as temp',
    'select temp.a from temp',
  ])
    assert.ok(!sqlite(sql).temporary, sql)
})

test('Statements that show accounts or other sessions are found in MySQL', () => {
  for (const sql of [
    'show grants',
    'SHOW/**/GRANTS for current_user()',
    'show create user',
    'show explain for 7',
    'show analyze format=json for 7',
  ])
    assert.ok(mysql(sql).showsOthers, sql)
  for (const sql of ['show tables', 'show create table user', "select 'show grants'", 'show columns from grants'])
    assert.ok(!mysql(sql).showsOthers, sql)
})

test('Statements are counted outside of strings, names and comments', () => {
  for (const sql of [
    'select 1',
    'select 1;',
    ';select 1;;',
    "select ';'",
    "select 'it''s;'",
    "select 'a\\';b'",
    'select `a;b`',
    'select 1 -- ; x',
    'select /* ; */ 1',
    'select ";"',
  ])
    assert.equal(mysql(sql).statements, 1, sql)
  for (const sql of [
    'select 1; select 2',
    "select '\\\\'; select 2",
    'select 1 --x\n; select 2',
    'select 1 /*! ; select 2 */',
    'select "a"";"; select 2',
  ])
    assert.equal(mysql(sql).statements, 2, sql)
  // SQLite has no backslash escapes, and accepts -- without a space.
  assert.equal(sqlite("select '\\'; select 2").statements, 2)
  assert.equal(sqlite('select 1 --; select 2').statements, 1)
  assert.equal(sqlite('select [a;b]').statements, 1)
})

test('Files of tables in folders of their own are found in MySQL', () => {
  for (const sql of [
    "create table t (a int) engine=myisam data directory='/tmp/x'",
    "create table t (a int) data /* */ directory '/tmp/x'",
    "alter table t index directory = '/tmp/x'",
    "create table t (a int) partition by hash(a) (partition p DATA DIRECTORY = '/tmp')",
  ])
    assert.ok(scanSql(sql, 'mysql').placesFiles, sql)
  for (const sql of ['select data directory from t', "select 'data directory=' as a", 'create table t (data int, directory int)'])
    assert.ok(!scanSql(sql, 'mysql').placesFiles, sql)
})

test('Programs that set a role or the session, or run SQL that they make, are found in MySQL', () => {
  for (const sql of [
    'create trigger tr before insert on t for each row set role reader',
    "create or replace definer = 'a'@'%' event e on schedule every 1 second do execute immediate concat('sel', 'ect 1')",
    'create event e on schedule every 1 day do call p()',
    'create procedure p() begin set @@sql_mode = 0; end',
    "alter event e do begin prepare s from 'select 1'; end",
    'create function f() returns int begin set global x = 1; return 1; end',
    'create procedure p(a int) set sql_select_limit = (a)',
    'create procedure p() set names utf8',
    'create definer = function@localhost trigger tr before insert on t for each row set sql_mode = (sql_mode)',
    'create trigger tr before insert on t for each row follows o set `sql_mode` = 1',
    'create or replace procedure p() set sql_mode = 1',
    'create procedure p(new int) set new.key_buffer_size = 1',
    'create event e on schedule every 1 day do set statement max_statement_time = 1 for select 1',
    'create event e on schedule every 1 day do set default role all',
    "create event e on schedule every 1 day do set password = 'a'",
  ])
    assert.ok(scanSql(sql, 'mysql').runsText, sql)
  const settings = [
    'sql_select_limit',
    '@a',
    '@@sql_mode',
    '@@session.sql_mode',
    '@@global.general_log',
    'session sql_mode',
    'global general_log',
  ]
  const places = [...settings, 'local sql_mode', 'persist a', '`sql_mode`', 'keys.key_buffer_size']
  for (const program of [
    'trigger tr before update on t for each row',
    'event e on schedule every 1 day do',
    'procedure p()',
    'procedure p(x int) comment "a"',
  ])
    for (const place of places)
      for (const before of ['', 'new.a = concat(new.b, 1), ', 'x = (1, 2), '])
        for (const is of ['=', ':='])
          assert.ok(
            scanSql(`create ${program} set ${before}${place} ${is} 1`, 'mysql').runsText,
            `${program} set ${before}${place} ${is} 1`,
          )
  for (const sql of [
    'create trigger tr before insert on t for each row set new.a = 1, new.b = coalesce(new.b, (select max(x) from u)), NEW . `c` := 2',
    'create trigger tr after update on t for each row update u set sql_mode = 1, b = 2 where a = new.a',
    'create trigger tr after insert on t for each row insert into u set a = new.a',
    'create event e on schedule every 1 day do replace u set a = 1',
    'create procedure p(out x int, y int) set x = y + 1, Y = 2',
    "create function f(a set('x', 'y'), b varchar(9) character set utf8mb4) returns int return 1",
    'create table t (event int references e (id) on delete set null on update set null)',
    'alter table event alter column a set default 5',
    'create trigger tr before insert on t for each row set new.a = 1',
    'create event e on schedule every 1 day do delete from t',
    'create table event (role int default 1)',
    "insert into t values ('create event e do execute immediate')",
  ])
    assert.ok(!scanSql(sql, 'mysql').runsText, sql)
})

test('Placeholders are counted outside of strings, names and comments', () => {
  const cases: readonly (readonly [string, number])[] = [
    ['select ?', 1],
    ['select \'?\', "?", `?`, ? -- ?\n, ? /* ? */', 2],
    ['select @a, @@b, :x', 0],
    ['select /*!50001 ? */ 1', 1],
    ["select 'a\\'?', ?", 1],
  ]
  for (const [sql, count] of cases) assert.equal(mysql(sql).placeholders, count, sql)
  assert.equal(sqlite('select ?1, ?3, ?').placeholders, 4)
  assert.equal(sqlite('select ?2, ?2').placeholders, 2)
  assert.deepEqual([sqlite('select :a, @a, :a').placeholders, sqlite('select :a').namedPlaceholders], [2, true])
  assert.equal(sqlite('select "?", [?]').placeholders, 0)
})

test('Reads with side effects are not classified as reads', () => {
  const faulty = [
    "select 1 into outfile '/tmp/x'",
    "select 1 INTO /* */ dumpfile '/tmp/x'",
    'select 1 into @a',
    'select 1 /*!50001 into outfile "x" */',
    '/*M!100100 delete from t */',
    'with a as (select 1) delete from t',
    'explain analyze; delete from t',
    'set sql_mode = 1',
    'handler t open',
    'do sleep(1)',
    '',
  ]
  for (const sql of faulty) assert.ok(readFault(mysql(sql)) !== undefined || mysql(sql).statements > 1, sql)
  for (const sql of [
    'select 1',
    "select 'into outfile'",
    'select `into`',
    'show create table t',
    'table t',
    'values (1)',
    'desc t',
    'explain select 1',
  ])
    assert.equal(readFault(mysql(sql)), undefined, sql)
})

test('Unterminated strings, names and comments are detected', () => {
  for (const sql of ["select 'a", 'select "a', 'select `a', 'select /* a', 'select /*! 1', "select 'a\\'"])
    assert.ok(mysql(sql).unterminated, sql)
  assert.equal(sqlite('select 1 /* a').unterminated, false)
  assert.ok(sqlite('select [a').unterminated)
})

test('Comments, spaces and names end where the database ends them', () => {
  // In MySQL, a no-break space is part of a name, so two hyphens before it do not start a comment; before DEL they do.
  for (const sql of ["select 1 --\u00a0 into outfile '/tmp/x'", "select 1 --\u007f'\n into outfile '/tmp/x' -- '"])
    assert.ok(mysql(sql).writesFile, JSON.stringify(sql))
  assert.equal(mysql('select 1 --\u2003?').placeholders, 1)
  assert.equal(mysql('\u00a0select 1').kind, 'unknown')
  // In SQLite, these are placeholders up to the parenthesis, including the quote.
  for (const sql of ["select #a(?'), 1 --')", "select :é(?'), 1 --')", "select $a$b(?'), 1 --')"])
    assert.ok(sqlite(sql).namedPlaceholders, sql)
  assert.equal(sqlite('\ufeffselect 1').kind, 'read')
})

test('Statements that commit the open transaction are recognized', () => {
  for (const sql of [
    'create table t (a int)',
    'truncate t',
    'begin',
    'start transaction',
    'commit',
    'lock tables t read',
    'grant all on t to u',
  ])
    assert.ok(commitsImplicitly(mysql(sql)), sql)
  for (const sql of ['insert into t values (1)', 'select 1', 'with a as (select 1) delete from t', 'savepoint a'])
    assert.equal(commitsImplicitly(mysql(sql)), false, sql)
})

test('The scan never fails, whatever the text', () => {
  const parts = [
    "'",
    '"',
    '`',
    '/*',
    '*/',
    '/*!',
    '--',
    '\n',
    '#',
    '?',
    '\\',
    ';',
    '[',
    ']',
    ':a',
    '@',
    'into',
    'select',
    '\u0000',
    'ä',
    '(',
    ')',
  ]
  let seed = 7
  const next = (most: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % most
  }
  for (let round = 0; round < 3000; round++) {
    const sql = Array.from({ length: next(12) }, () => parts[next(parts.length)]).join(next(2) === 0 ? '' : ' ')
    for (const dialect of ['mysql', 'sqlite'] as const) assert.ok(scanSql(sql, dialect).statements >= 0)
  }
})
