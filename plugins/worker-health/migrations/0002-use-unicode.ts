import { defineMigration, useUnicode } from 'zin/plugins/database'

export const useUnicodeInHistory = defineMigration({
  id: '0002_use_unicode_in_worker_health',
  up: (db) => useUnicode(db, 'zin_worker_health'),
  down: () => Promise.resolve(),
})
