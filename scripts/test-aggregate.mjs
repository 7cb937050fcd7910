// Runs several test files in one process: starting a process and loading its modules costs more than most of them take.
// Each file becomes a suite, so that its hooks stay its own, and finds its databases empty.
// TEST_COMPILED names the folder with the compiled files, see compile.ts.
import asyncHooks, { AsyncResource } from 'node:async_hooks'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import './testing/quick-start.mjs'

// node:test listens to the end of every asynchronous resource, only to forget its own tests earlier. Node 20 then tracks every promise, which
// makes awaiting one many times slower.
const { createHook } = asyncHooks
asyncHooks.createHook = ({ destroy: _destroy, ...listeners }) => createHook(listeners)
const { before, describe } = await import('node:test')
asyncHooks.createHook = createHook

const { TEST_COMPILED: compiled, TEST_REDIS_URL: redisUrl, TEST_MYSQL_URL: mysqlUrl } = process.env
const files = process.argv.slice(2)
const moduleOf = (file) => (compiled === undefined ? resolve(file) : join(compiled, file.replace(/\.ts$/, '.js')))

async function emptyDatabases() {
  const [{ Redis }, { createConnection }] = await Promise.all([import('ioredis'), import('mysql2/promise')])
  const name = new URL(mysqlUrl).pathname.slice(1)
  if (!name.startsWith('zin_test_')) throw new Error(`the database ${name} is not one of scripts/test.ts, and would be emptied`)
  const redis = new Redis(redisUrl)
  const mysql = await createConnection(mysqlUrl)
  try {
    await redis.flushdb()
    await mysql.query(`DROP DATABASE ${name}`)
    await mysql.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4`)
  } finally {
    redis.disconnect()
    await mysql.end()
  }
}

// One after the other: a file that waits for a module which another one is loading would add its tests to the suite of that one.
let last
for (const [index, file] of files.entries()) {
  describe(file, async () => {
    if (index > 0 && redisUrl !== undefined) before(emptyDatabases)
    const earlier = last
    // Its tests belong to the suite in which the import begins.
    const load = AsyncResource.bind(() => import(pathToFileURL(moduleOf(file)).href))
    last = (async () => {
      await earlier
      await load()
    })()
    await last
  })
}
