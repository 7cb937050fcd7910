import { defineConfig } from 'zin'
import { cluster, database, decisions, health, kv, microservices, ops, queues, workers } from 'zin/plugins'
import { gateway } from './gateway/index.js'

export default defineConfig({
  plugins: [
    database(),
    kv(),
    cluster(),
    queues(),
    health(),
    ops(),
    decisions(),
    workers(),
    // users runs in a process of its own, which is started again when it ends. To move it to another machine, give its url instead.
    microservices({ services: { users: { process: 'own' } } }),
    gateway(),
  ],
})
