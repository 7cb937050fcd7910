/** Names of the result codes of SQLite, in the order of their numbers. */
const names =
  'OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB NOTICE WARNING'.split(
    ' ',
  )

/** Names of the extended codes, which have the number of the code in their lowest byte and their own, from 1, above it. */
const extended: Readonly<Record<string, string>> = {
  ERROR: 'MISSING_COLLSEQ RETRY SNAPSHOT',
  ABORT: '- ROLLBACK',
  BUSY: 'RECOVERY SNAPSHOT TIMEOUT',
  LOCKED: 'SHAREDCACHE VTAB',
  READONLY: 'RECOVERY CANTLOCK ROLLBACK DBMOVED CANTINIT DIRECTORY',
  IOERR:
    'READ SHORT_READ WRITE FSYNC DIR_FSYNC TRUNCATE FSTAT UNLOCK RDLOCK DELETE BLOCKED NOMEM ACCESS CHECKRESERVEDLOCK LOCK CLOSE DIR_CLOSE SHMOPEN SHMSIZE SHMLOCK SHMMAP SEEK DELETE_NOENT MMAP GETTEMPPATH CONVPATH VNODE AUTH BEGIN_ATOMIC COMMIT_ATOMIC ROLLBACK_ATOMIC DATA CORRUPTFS IN_PAGE',
  CORRUPT: 'VTAB SEQUENCE INDEX',
  CANTOPEN: 'NOTEMPDIR ISDIR FULLPATH CONVPATH DIRTYWAL SYMLINK',
  CONSTRAINT: 'CHECK COMMITHOOK FOREIGNKEY FUNCTION NOTNULL PRIMARYKEY TRIGGER UNIQUE VTAB ROWID PINNED DATATYPE',
  AUTH: 'USER',
}

/** Messages with a code other than ERROR. The package leaves the number out of errors of statements that return rows. */
const messages: readonly (readonly [RegExp, string])[] = [
  [/^UNIQUE constraint failed/, 'CONSTRAINT_UNIQUE'],
  [/^NOT NULL constraint failed/, 'CONSTRAINT_NOTNULL'],
  [/^CHECK constraint failed/, 'CONSTRAINT_CHECK'],
  [/^FOREIGN KEY constraint failed/, 'CONSTRAINT_FOREIGNKEY'],
  [/^database is locked/, 'BUSY'],
  [/^database table is locked|^database schema is locked/, 'LOCKED'],
  [/^out of memory/, 'NOMEM'],
  [/^attempt to write a readonly database/, 'READONLY'],
  [/^interrupted/, 'INTERRUPT'],
  [/^disk I\/O error/, 'IOERR'],
  [/^database disk image is malformed/, 'CORRUPT'],
  [/^database or disk is full/, 'FULL'],
  [/^unable to open database/, 'CANTOPEN'],
  [/^locking protocol/, 'PROTOCOL'],
  [/^database schema has changed/, 'SCHEMA'],
  [/^string or blob too big/, 'TOOBIG'],
  [/^datatype mismatch/, 'MISMATCH'],
  [/^not authorized|^authorization denied/, 'AUTH'],
  [/^column index out of range/, 'RANGE'],
  [/^file is not a database/, 'NOTADB'],
]

/** Returns the name of a result code, such as `SQLITE_CONSTRAINT_UNIQUE`; from the message if there is no number. */
export function codeName(code: unknown, message: string): string {
  if (typeof code !== 'number') return `SQLITE_${messages.find(([pattern]) => pattern.test(message))?.[1] ?? 'ERROR'}`
  const name = names[code & 0xff] ?? 'ERROR'
  const own = extended[name]?.split(' ')[(code >> 8) - 1]
  return own === undefined || own === '-' ? `SQLITE_${name}` : `SQLITE_${name}_${own}`
}
