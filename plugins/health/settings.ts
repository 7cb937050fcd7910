import { defineSettings } from 'zin'

export const healthSettings = defineSettings({
  CACHE_DRIVER: {
    type: 'enum',
    default: 'memory',
    values: ['memory', 'kv'],
    summary: 'Cache of the app; with `kv`, readiness checks the kv store, for 2000 ms at most',
  },
})
