import { defineConfig } from 'zin'
import { cluster, database, decisions, health, jwt, kv, microservices, ops, queues, workers } from 'zin/plugins'
import { gateway } from './gateway/index.js'

export default defineConfig({
  plugins: [
    database(),
    kv(),
    cluster(),
    queues(),
    health(),
    // In production, callers of the ops routes need a token.
    jwt(),
    ops(),
    decisions(),
    workers(),
    // users runs in a separate process, which is restarted when it exits. To move it to another machine, set its url instead.
    microservices({ services: { users: { process: 'own' } } }),
    gateway(),
  ],
})
