import { existsSync, readFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { messageOf } from 'zin'
import { edgeProxyErrors } from '../errors.js'
import { type EdgeConfig, EdgeConfigError, type EdgeSettings, readConfig } from '../worker/config.js'
import { createHandler } from '../worker/handler.js'
import type { LocalServer } from './local-server.js'
import { startNodeServer } from './node-server.js'
import { openSqliteBinding } from './sqlite-binding.js'
import { findMiniflare, startWorkerdServer } from './workerd-server.js'

export interface RunOptions {
  /** Folder in which the package miniflare is searched. */
  readonly folder: string
  readonly dataDir: string
  readonly settings: EdgeSettings
  readonly binding: string
  readonly host: string
  readonly port: number
  /** `auto`: workerd if miniflare is installed, otherwise Node. */
  readonly runtime: 'auto' | 'node' | 'workerd'
  readonly onError: (text: string) => void
}

export interface RunningProxy extends LocalServer {
  /** For the startup line, such as `workerd by miniflare, D1`. */
  readonly runtime: string
  /** Folder or file of the data. */
  readonly data: string
  readonly config: EdgeConfig
}

/** Starts the proxy on this machine. Throws a ZinError for invalid settings or an unusable address. */
export async function runProxy(options: RunOptions): Promise<RunningProxy> {
  const config = await checkedConfig(options.settings)
  const miniflare = options.runtime === 'node' ? undefined : findMiniflare(options.folder)
  if (miniflare === undefined && options.runtime === 'workerd')
    throw edgeProxyErrors.EDGE_PROXY_CONFIG(
      '--runtime workerd requires the package miniflare; install it with "npm install --save-dev miniflare"',
    )
  try {
    return { config, ...(miniflare === undefined ? await onNode(options, config) : await onWorkerd(options, miniflare)) }
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    const taken = code === 'EADDRINUSE' || /address already in use/i.test(messageOf(error))
    const foreign = code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND'
    if (!taken && !foreign && code !== 'EACCES') throw error
    const why = taken ? 'the port is in use' : foreign ? 'it is not an address of this machine' : 'permission denied'
    throw edgeProxyErrors.EDGE_PROXY_ADDRESS(options.host, options.port, why)
  }
}

/** Reads and checks the settings. Throws EDGE_PROXY_CONFIG, which names the setting. */
export async function checkedConfig(settings: EdgeSettings): Promise<EdgeConfig> {
  try {
    return await readConfig(settings)
  } catch (error) {
    throw error instanceof EdgeConfigError ? edgeProxyErrors.EDGE_PROXY_CONFIG(error.message) : error
  }
}

async function onNode({ dataDir, host, port, onError }: RunOptions, config: EdgeConfig) {
  const data = join(dataDir, 'edge.db')
  const db = await openSqliteBinding(data, (why) => onError(`the database process exited unexpectedly, restarting it: ${why}`))
  const handle = createHandler({
    db,
    config,
    onError: (error, requestId) => onError(`${error.code} in request ${requestId}: ${messageOf(error.cause)}`),
  })
  try {
    return { runtime: 'Node, SQLite', data, ...(await startNodeServer({ handle, host, port, onClose: () => db.close() })) }
  } catch (error) {
    await db.close()
    throw error
  }
}

async function onWorkerd({ dataDir, settings, binding, host, port }: RunOptions, miniflare: string) {
  const data = join(dataDir, 'edge-d1')
  const script = workerFile()
  return {
    runtime: 'workerd by miniflare, D1',
    data,
    ...(await startWorkerdServer({ miniflare, script, settings, binding, persistTo: data, host, port })),
  }
}

/** Returns the built worker, the single file behind `zin/edge`. */
export function workerFile(): string {
  // Search from here up to the package root, because the build moves this file.
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, 'dist', 'edge.js')
    if (existsSync(file)) return file
  }
  throw edgeProxyErrors.EDGE_PROXY_CONFIG('the file dist/edge.js of the package zin is missing; install zin again')
}

/** Reads a statements file. Throws EDGE_PROXY_CONFIG. */
export function readStatements(folder: string, file: string): string {
  const path = isAbsolute(file) ? file : join(folder, file)
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw edgeProxyErrors.EDGE_PROXY_CONFIG(`--statements ${path} cannot be read: ${messageOf(error)}`)
  }
}
