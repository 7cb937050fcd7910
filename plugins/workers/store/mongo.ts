import type { Db, MongoClient } from 'mongodb'
import { appSlug } from 'zin'
import { workerErrors } from '../errors.js'

export interface MongoOptions {
  /** MONGODB_URL. */
  readonly url: string
  /** Name of the database, if the URL contains none. */
  readonly fallback: string
  /** Timeout for selecting and connecting to a server, and for sockets, in ms. */
  readonly timeoutMs: number
  /** Name of the client in the logs of MongoDB. */
  readonly appName: string
  /** Loads the driver. */
  readonly load?: () => Promise<typeof import('mongodb')>
}

/** The connection of the app to MongoDB. Opened by the first call, closed by its owner. */
export class Mongo {
  readonly #options: MongoOptions
  #client: Promise<MongoClient> | undefined

  constructor(options: MongoOptions) {
    this.#options = options
  }

  async database(): Promise<Db> {
    const client = await this.#connected()
    return client.db(databaseOf(this.#options.url) ?? databaseName(this.#options.fallback))
  }

  async close(): Promise<void> {
    const closing = this.#client
    this.#client = undefined
    await (await closing?.catch(() => undefined))?.close()
  }

  #connected(): Promise<MongoClient> {
    // If the first connection fails, the next call retries.
    this.#client ??= this.#open().catch((error: unknown) => {
      this.#client = undefined
      throw error
    })
    return this.#client
  }

  async #open(): Promise<MongoClient> {
    const { url, timeoutMs, appName } = this.#options
    if (!isMongoUrl(url)) throw workerErrors.WORKERS_MISCONFIGURED(urlFault)
    const { MongoClient } = await loadDriver(this.#options.load ?? (() => import('mongodb')))
    const limits = { serverSelectionTimeoutMS: timeoutMs, connectTimeoutMS: timeoutMs, socketTimeoutMS: timeoutMs, maxPoolSize: 10 }
    let client: MongoClient
    try {
      client = new MongoClient(url, { ...limits, appName })
    } catch {
      // The driver's message may contain parts of the URL.
      throw workerErrors.WORKERS_MISCONFIGURED(urlFault)
    }
    try {
      return await client.connect()
    } catch (error) {
      await client.close()
      throw error
    }
  }
}

const urlFault =
  'MONGODB_URL is not a MongoDB URL; use mongodb://[user:password@]host[:port][,host…][/database][?options] or mongodb+srv://…, with special characters percent-encoded'
const urlPattern = /^mongodb(?:\+srv)?:\/\/[^/?#\s]+(?:\/([^/?#\s]*))?(?:\?[^#\s]*)?$/

function isMongoUrl(url: string): boolean {
  return urlPattern.test(url)
}

function databaseOf(url: string): string | undefined {
  const [, name = ''] = urlPattern.exec(url) ?? []
  return name === '' ? undefined : decodeURIComponent(name)
}

/** MongoDB database names have at most 63 bytes, and no blanks or most special characters. */
function databaseName(text: string): string {
  return appSlug(text, 63).replaceAll('.', '_') || 'zin'
}

async function loadDriver(load: () => Promise<typeof import('mongodb')>): Promise<typeof import('mongodb')> {
  try {
    return await load()
  } catch (error) {
    const missing = typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
    if (!missing) throw error
    throw workerErrors.WORKERS_MISCONFIGURED('MONGODB_URL is set, but the package mongodb is missing; run npm install mongodb')
  }
}

/** Whether an error of the driver means that the server is unreachable. */
export function isMongoUnavailable(error: unknown): boolean {
  return error instanceof Error && unavailableNames.has(error.name)
}

const unavailableNames = new Set([
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'MongoServerSelectionError',
  'MongoNotConnectedError',
  'MongoTopologyClosedError',
  'MongoPoolClosedError',
  'MongoPoolClearedError',
  'MongoWaitQueueTimeoutError',
  'MongoClientClosedError',
])
