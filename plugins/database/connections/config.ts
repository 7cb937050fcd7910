import { join, resolve } from 'node:path'
import { joinErrors, type SettingValues } from 'zin'
import { databaseErrors } from '../errors.js'
import type { DatabaseOptions } from '../options.js'
import type { databaseSettings } from '../settings.js'
import { edgeRemoteConfig, type ProxyConfig, rdbProxyConfig } from './proxy-config.js'

export interface SqliteConfig {
  readonly name: string
  readonly driver: 'sqlite'
  /** Absolute. */
  readonly file: string
}

export interface MysqlConfig {
  readonly name: string
  readonly driver: 'rdb'
  readonly host: string
  readonly port: number
  readonly database: string
  readonly username: string
  readonly password: string
  readonly poolLimit: number
}

export type ConnectionConfig = SqliteConfig | MysqlConfig | ProxyConfig

export interface ConfigInput {
  readonly settings: SettingValues<typeof databaseSettings>
  readonly options: DatabaseOptions
  readonly dataDir: string
  readonly production: boolean
}

/** Settings and options → the connections of the app, `default` first. Throws DATABASE_CONFIG. Pure. */
export function connectionConfigs(input: ConfigInput): readonly [ConnectionConfig, ...ConnectionConfig[]] {
  const named = Object.entries(input.options.connections).map(
    ([name, given]): ConnectionConfig =>
      given.driver === 'sqlite'
        ? { name, driver: 'sqlite', file: resolve(input.dataDir, given.file ?? `${name}.db`) }
        : {
            name,
            driver: 'rdb',
            host: given.host ?? 'localhost',
            port: given.port ?? 3306,
            database: given.database ?? 'zin',
            username: given.username ?? 'root',
            password: given.password ?? '',
            poolLimit: given.poolLimit ?? 10,
          },
  )
  const configs: readonly [ConnectionConfig, ...ConnectionConfig[]] = [defaultConfig(input), ...named]
  const open = input.production ? configs.filter(isOpenRoot).map(openRoot) : []
  if (open.length > 0) throw joinErrors(open)
  return configs
}

/** The SQLite file in the data directory. */
export function embeddedConfig(dataDir: string): SqliteConfig {
  return { name: 'default', driver: 'sqlite', file: join(dataDir, 'app.db') }
}

function defaultConfig({ settings, dataDir, production }: ConfigInput): ConnectionConfig {
  const kind = settings.DB_CONNECTION
  if (kind === 'edge-remote') return edgeRemoteConfig(settings)
  if (kind === 'rdb' && settings.USE_RDB_PROXY) return rdbProxyConfig(settings, production)
  if (settings.USE_RDB_PROXY) {
    throw databaseErrors.DATABASE_CONFIG(
      `USE_RDB_PROXY is true and DB_CONNECTION is "${kind}". Set DB_CONNECTION=rdb to connect through the relational proxy, or unset USE_RDB_PROXY`,
    )
  }
  if (kind === '') return embeddedConfig(dataDir)
  if (kind !== 'rdb') {
    throw databaseErrors.DATABASE_CONFIG(
      `DB_CONNECTION is "${kind}". Supported are an empty value (SQLite in the data directory), "rdb" (MySQL or MariaDB by DB_HOST, DB_PORT, DB_DATABASE, DB_USERNAME, DB_PASSWORD, or through the relational proxy with USE_RDB_PROXY=true) and "edge-remote" (through the edge proxy)`,
    )
  }
  return {
    name: 'default',
    driver: 'rdb',
    host: settings.DB_HOST,
    port: settings.DB_PORT,
    database: settings.DB_DATABASE,
    username: settings.DB_USERNAME,
    password: settings.DB_PASSWORD,
    poolLimit: settings.DB_POOL_LIMIT,
  }
}

function isOpenRoot(config: ConnectionConfig): boolean {
  return config.driver === 'rdb' && config.username === 'root' && config.password === ''
}

function openRoot({ name }: ConnectionConfig): Error {
  const where = name === 'default' ? 'DB_USERNAME and DB_PASSWORD' : `username and password of connections.${name}`
  return databaseErrors.DATABASE_CONFIG(
    `connection "${name}" would log in as root with an empty password, which is refused in production. Create a user for this app and set ${where}`,
  )
}
