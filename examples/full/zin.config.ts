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

// Data is stored in .zin/data until REDIS_URL and DB_* are set; nothing else needs to change.
export default defineConfig({
  plugins: [
    database(),
    kv(),
    cluster(),
    queues(),
    health(),
    jwt(),
    // Outside the ops routes, only the CLI may sign with the shared secret; all other clients sign with a device secret.
    bulletproof({ sharedSecretFor: 'listed' }),
    login({ seed: { email: 'demo@example.com', role: 'user', passwordSetting: 'DEMO_PASSWORD' } }),
    ops(),
    decisions(),
    workers({
      // Created when it is absent. Whether it runs is up to the operator.
      declare: [
        {
          name: 'email-sender',
          queueName: 'emails',
          processor: 'processors/email-sender.ts',
          healthCheck: 'processors/email-sender.ts',
          concurrency: 10,
          features: { healthMonitoring: true, autoScaling: true },
        },
      ],
    }),
    workerHealth(),
    canary(),
    resources(),
    autoscale(),
    breaker(),
    queueMonitor(),
    compliance(),
    observability(),
    webConsole(),
  ],
})
