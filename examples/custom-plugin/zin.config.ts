import { defineConfig } from 'zin'
import { cluster, database, health, jwt, kv, ops, queues, workers } from 'zin/plugins'
import { rateShaper } from './rate-shaper/index.js'
import { slowJobs } from './slow-jobs/index.js'

export default defineConfig({
  plugins: [database(), kv(), cluster(), queues(), health(), jwt(), ops(), workers(), rateShaper(), slowJobs({ thresholdMs: 5_000 })],
})
