import { defineConfig } from 'zin'
import {
  autoscale,
  breaker,
  bulletproof,
  canary,
  cluster,
  compliance,
  database,
  decisions,
  health,
  jwt,
  kv,
  login,
  observability,
  ops,
  queueMonitor,
  queues,
  resources,
  webConsole,
  workerHealth,
  workers,
} from 'zin/plugins'
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
    decisions(),
    workers(),
    workerHealth(),
    canary(),
    resources(),
    autoscale(),
    breaker(),
    queueMonitor(),
    compliance(),
    observability(),
    webConsole(),
    emails(),
  ],
})
