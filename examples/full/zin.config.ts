import { defineConfig } from 'zin'
import { bulletproof, cluster, database, health, jwt, kv, login, ops, queues, workerHealth, workers } from 'zin/plugins'
import { emails } from './emails/index.js'

// Data live in .zin/data until REDIS_URL and DB_* name servers; nothing else changes then.
export default defineConfig({
  plugins: [
    database(),
    kv(),
    cluster(),
    queues(),
    health(),
    jwt(),
    // Only devices sign, and the command line: see sharedSecretFor.
    bulletproof({ sharedSecretFor: 'listed' }),
    login({ seed: { email: 'demo@example.com', role: 'user', passwordSetting: 'DEMO_PASSWORD' } }),
    ops(),
    workers(),
    workerHealth(),
    emails(),
  ],
})
