import { defineConfig } from 'zin'
import { cluster, database, health, kv, ops, queues, workers } from 'zin/plugins'
import { slowJobs } from './slow-jobs/index.js'

export default defineConfig({
  plugins: [database(), kv(), cluster(), queues(), health(), ops(), workers(), slowJobs({ thresholdMs: 5_000 })],
})
