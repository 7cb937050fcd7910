import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { createConnection } from 'mysql2/promise'
import { startServices } from '../services.js'
import { type BenchRow, formatRows } from './row.js'
import { compareWorkers } from './workers.js'

/**
 * Measures what the audit log and encryption cost: a managed worker that decrypts jobs and records their outcomes in MariaDB, against a bare
 * BullMQ worker with plain jobs, on the same Redis.
 */
export async function benchCompliance(): Promise<BenchRow[]> {
  const services = await startServices()
  const database = `bench_${randomUUID().slice(0, 8)}`
  const connection = await createConnection(services.mysqlUrl)
  try {
    await connection.query(`create database ${database} character set utf8mb4`)
    const args = [services.redisUrl, `${services.mysqlUrl}/${database}`]
    return await compareWorkers({ store: 'Redis', args, jobs: 20_000, kinds: ['compliant', 'bare'], concurrencies: [10], budget: 0.85 })
  } finally {
    await connection.end()
    await services.stop()
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(formatRows(await benchCompliance()))
