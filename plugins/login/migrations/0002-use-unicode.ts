import { defineMigration, useUnicode } from 'zin/plugins/database'

/** For a table that was created with the character set of the database. */
export const useUnicodeInUsers = defineMigration({
  id: '0002_use_unicode_in_users',
  up: (db) => useUnicode(db, 'zin_users'),
  down: () => Promise.resolve(),
})
