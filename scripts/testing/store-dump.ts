import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createConnection } from 'mysql2/promise'

/** Returns the files of a folder that contain a text. */
export async function filesWith(folder: string, text: string): Promise<readonly string[]> {
  const needles = [Buffer.from(text, 'utf8'), Buffer.from(text, 'utf16le')]
  const found: string[] = []
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath ?? entry.path, entry.name)
    const content = await readFile(path).catch(() => Buffer.alloc(0))
    if (needles.some((needle) => content.includes(needle))) found.push(path.slice(folder.length + 1))
  }
  return found
}

/** Returns the Redis keys of any type with a text in their name or content. */
export async function redisKeysWith(url: string, prefix: string, text: string): Promise<readonly string[]> {
  const redis = new Redis(url)
  try {
    const found: string[] = []
    for (const key of await redis.keys('*')) {
      if (!key.includes(prefix)) continue
      if (`${key}${JSON.stringify(await contentOf(redis, key))}`.includes(text)) found.push(key)
    }
    return found
  } finally {
    redis.disconnect()
  }
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'string':
      return redis.get(key)
    case 'hash':
      return redis.hgetall(key)
    case 'list':
      return redis.lrange(key, 0, -1)
    case 'set':
      return redis.smembers(key)
    case 'zset':
      return redis.zrange(key, '0', '-1')
    case 'stream':
      return redis.xrange(key, '-', '+')
    default:
      return undefined
  }
}

/** Returns the tables of a MySQL or MariaDB database with a text in any row. */
export async function tablesWith(url: string, text: string): Promise<readonly string[]> {
  const connection = await createConnection(url)
  try {
    const found: string[] = []
    const [tables] = await connection.query('show tables')
    for (const row of tables as Record<string, string>[]) {
      const [name = ''] = Object.values(row)
      const [rows] = await connection.query(`select * from \`${name}\``)
      if (JSON.stringify(rows).includes(text)) found.push(name)
    }
    return found
  } finally {
    await connection.end()
  }
}
