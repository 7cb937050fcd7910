import { type Command, defineCommand, readSettings } from 'zin'
import { proxyServerSettings, rdbProxySettings } from './settings.js'

/** The standalone server; needs no app. */
export const proxyCommand = defineCommand({
  name: 'proxy:mysql',
  summary: 'Serve SQL over HTTP in front of MySQL or MariaDB',
  needs: 'nothing',
  serves: true,
  options: {
    host: { type: 'string', summary: 'Address to listen on; default: RDB_PROXY_HOST, 127.0.0.1' },
    port: { type: 'int', min: 0, max: 65_535, summary: 'Port to listen on; default: RDB_PROXY_PORT, 8789' },
    'db-host': { type: 'string', summary: 'Host of the database server; default: DB_HOST, localhost' },
    'db-port': { type: 'int', min: 1, max: 65_535, summary: 'Port of the database server; default: DB_PORT, 3306' },
    'db-name': { type: 'string', summary: 'Database; default: DB_DATABASE, zin' },
    'db-user': { type: 'string', summary: 'User; default: DB_USERNAME, root' },
    'db-pass': { type: 'string', summary: 'Password; visible to others on this machine, so prefer DB_PASSWORD' },
    'connection-limit': {
      type: 'int',
      min: 1,
      max: 1000,
      summary: 'Connections for reading, and the same number for writing; default: RDB_PROXY_POOL_LIMIT, 10',
    },
    'max-body-bytes': {
      type: 'int',
      min: 1024,
      max: 16_777_216,
      summary: 'Maximum size of a request body; default: RDB_PROXY_MAX_BODY_BYTES, 131072',
    },
    watch: { type: 'boolean', summary: 'Reload the statements file when it changes' },
  },
  async run({ options, env, cwd, print, signal }) {
    const given: Readonly<Record<string, string | number | undefined>> = {
      RDB_PROXY_HOST: options.host,
      RDB_PROXY_PORT: options.port,
      DB_HOST: options['db-host'],
      DB_PORT: options['db-port'],
      DB_DATABASE: options['db-name'],
      DB_USERNAME: options['db-user'],
      DB_PASSWORD: options['db-pass'],
      RDB_PROXY_POOL_LIMIT: options['connection-limit'],
      RDB_PROXY_MAX_BODY_BYTES: options['max-body-bytes'],
    }
    const set = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
    const merged = { ...env, ...(Object.fromEntries(set) as Readonly<Record<string, string>>) }
    if (options['db-pass'] !== undefined)
      print.error('others on this machine can see a password on the command line; set DB_PASSWORD instead')
    const { serveProxy } = await import('./serve.js')
    const { RDB_PROXY_HOST, RDB_PROXY_PORT } = readSettings(proxyServerSettings, merged, 'zin proxy:mysql')
    await serveProxy({ host: RDB_PROXY_HOST, port: RDB_PROXY_PORT, env: merged, cwd, watch: options.watch, signal, print })
  },
})

const sources = {
  file: { type: 'string', summary: 'The statements file; default: RDB_PROXY_STATEMENTS_FILE' },
  'max-sql-bytes': { type: 'int', default: 32_768, min: 64, max: 1_048_576, summary: 'Option maxSqlBytes of the proxy' },
  'max-params': { type: 'int', default: 256, min: 0, max: 65_535, summary: 'Option maxParams of the proxy' },
} as const

interface Sources {
  readonly file: string | undefined
  readonly 'max-sql-bytes': number
  readonly 'max-params': number
  readonly offline: boolean
}

const sourceOf = ({ file, offline, 'max-sql-bytes': maxSqlBytes, 'max-params': maxParams }: Sources) => ({
  file,
  offline,
  limits: { maxSqlBytes, maxParams },
})

const checkCommand = defineCommand({
  name: 'proxy:statements check',
  summary: 'Validate the statements file and prepare each statement on the database',
  needs: 'nothing',
  json: true,
  options: {
    ...sources,
    offline: { type: 'boolean', summary: 'Check only the file, without a database' },
    page: { type: 'int', default: 1, min: 1, summary: 'Page number; statements with a problem come first' },
    limit: { type: 'int', default: 100, min: 1, max: 1000, summary: 'Statements per page' },
  },
  async run({ options, env, cwd, print }) {
    const { checkStatements } = await import('./statement-tools.js')
    const settings = readSettings(rdbProxySettings, env, 'zin proxy:statements')
    const rows = await checkStatements({ settings, cwd, ...sourceOf(options) })
    const { limit, page } = options
    print.table(rows.slice((page - 1) * limit, page * limit), ['id', 'kind', 'params', 'problem'])
    const pages = Math.ceil(rows.length / limit)
    if (pages > page) print.line(`page ${page} of ${pages}, ${rows.length} statements: use --page and --limit`)
    const faulty = rows.filter(({ problem }) => problem !== '')
    if (faulty.length === 0) print.line(`${rows.length} statements are valid`)
    else print.error(`${faulty.length} of ${rows.length} statements cannot be prepared`)
    return faulty.length === 0 ? 0 : 1
  },
})

const typesCommand = defineCommand({
  name: 'proxy:statements types',
  summary: 'Write TypeScript declarations for the registered statements',
  needs: 'nothing',
  options: {
    ...sources,
    out: { type: 'string', summary: 'File to write; default: standard output' },
    offline: { type: 'boolean', summary: 'Without the columns of results, which only the database knows' },
  },
  async run({ options, env, cwd, print }) {
    const { typesOfStatements } = await import('./statement-tools.js')
    const settings = readSettings(rdbProxySettings, env, 'zin proxy:statements')
    const { text, path } = await typesOfStatements({ settings, cwd, out: options.out, ...sourceOf(options) })
    if (path === undefined) print.line(text.trimEnd(), { verbatim: true })
    else print.line(`${path} written`)
  },
})

export const standaloneCommands: readonly Command[] = [proxyCommand, checkCommand, typesCommand]
