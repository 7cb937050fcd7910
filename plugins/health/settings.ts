import { defineSettings } from 'zin'

export const healthSettings = defineSettings({
  CACHE_DRIVER: {
    type: 'enum',
    default: 'memory',
    values: ['memory', 'kv'],
    summary: 'Where the app caches; `kv` makes readiness probe the kv store, for 2000 ms at most',
  },
})
