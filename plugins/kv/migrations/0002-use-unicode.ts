import { defineMigration, useUnicode } from 'zin/plugins/database'

export const useUnicodeInKv = defineMigration({
  id: '0002_use_unicode_in_kv',
  up: (db) => useUnicode(db, 'zin_kv'),
  down: () => Promise.resolve(),
})
