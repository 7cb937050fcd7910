import { describePlugin } from 'zin/testing'
import { rdbProxy } from './index.js'

describePlugin(() => [], rdbProxy, {
  readme: new URL('./README.md', import.meta.url),
  env: { DB_HOST: '127.0.0.1', DB_PORT: '1', RDB_PROXY_SECRET: 's'.repeat(32) },
})
