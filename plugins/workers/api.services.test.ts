import { randomUUID } from 'node:crypto'
import { after, before } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { apiContract } from './api.contract.js'

const redisUrl = process.env.TEST_REDIS_URL ?? 'redis://TEST_REDIS_URL-is-not-set'
const mysqlUrl = process.env.TEST_MYSQL_URL ?? 'mysql://TEST_MYSQL_URL-is-not-set'
const server = new URL(mysqlUrl)
const database = `zin_api_${randomUUID().slice(0, 8)}`

before(() => query(`create database ${database}`))
after(() => query(`drop database ${database}`))

apiContract('Redis', { env: { REDIS_URL: redisUrl, WORKER_PERSISTENCE_DRIVER: 'kvstore' } })

apiContract('MySQL or MariaDB', {
  env: {
    DB_CONNECTION: 'rdb',
    DB_HOST: server.hostname,
    DB_PORT: server.port || '3306',
    DB_DATABASE: database,
    DB_USERNAME: decodeURIComponent(server.username),
    DB_PASSWORD: decodeURIComponent(server.password),
    WORKER_PERSISTENCE_DRIVER: 'db',
  },
})

async function query(text: string): Promise<void> {
  const connection = await createConnection(mysqlUrl)
  await connection.query(text)
  await connection.end()
}
