import { defineMigration, useUnicode } from 'zin/plugins/database'

/** Converts tables that were created with the default character set of the database. */
export const useUnicodeInTables = defineMigration({
  id: '0003_use_unicode_in_bulletproof',
  up: (db) => useUnicode(db, 'bulletproof_devices', 'bulletproof_nonces'),
  down: () => Promise.resolve(),
})
