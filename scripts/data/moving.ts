// Runs zin data:export and data:import in this process, on hosts of a test.
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Plugin } from 'zin'
import {
  breaker,
  bulletproof,
  canary,
  cluster,
  compliance,
  database,
  jwt,
  kv,
  login,
  ops,
  queueMonitor,
  queues,
  workers,
} from 'zin/plugins'
import { createTestHost, type TestHost } from 'zin/testing'
import { dataExportCommand, dataImportCommand } from '../../core/cli/commands/data.js'
import type { CommandContext } from '../../core/host/command.js'
import { kinds } from './fill.js'

export type Env = Readonly<Record<string, string>>

/** Where the data of an app is. */
export interface Place {
  readonly env: Env
  readonly dataDir: string
  /** Default: all that store data. */
  readonly plugins?: () => Plugin[]
}

const keys = { APP_KEY: 'k'.repeat(40), JWT_SECRET: 'j'.repeat(40), BULLETPROOF_SIGNING_SECRET: 's'.repeat(40) }

/** The plugins that store data. */
export const plugins = (): Plugin[] => [
  ...[database(), kv(), cluster(), queues({ search: { found: ['customer.id'] } }), jwt(), bulletproof(), login(), ops(), workers()],
  ...[
    canary(),
    breaker(),
    queueMonitor({ monitor: { webhookSecret: 'a secret of more than 24 bytes' } }),
    compliance({ clearFields: { found: ['customer.id'] } }),
    kinds(),
  ],
]

/** Starts the app; without roles, as a command does. */
export const startAt = ({ dataDir, env }: Place, roles?: readonly []): Promise<TestHost> =>
  createTestHost({
    plugins: plugins(),
    dataDir,
    env: { APP_NAME: 'moving', WORKER_PERSISTENCE_DRIVER: 'db', ...keys, ...env },
    ...(roles && { roles }),
  })

/** Starts the stores, as the commands do. */
async function run(
  place: Place,
  command: typeof dataExportCommand | typeof dataImportCommand,
  args: object,
  options: object,
): Promise<string> {
  const said: string[] = []
  const { Host, memoryLogger, plainEnv } = await import('zin/testing')
  const env = plainEnv({
    NODE_ENV: 'test',
    APP_NAME: 'moving',
    WORKER_PERSISTENCE_DRIVER: 'db',
    ZIN_DATA_DIR: place.dataDir,
    ...keys,
    ...place.env,
  })
  await mkdir(place.dataDir, { recursive: true })
  const host = new Host({ plugins: (place.plugins ?? plugins)() }, { rootDir: place.dataDir, env, log: memoryLogger(), roles: [] })
  await host.prepare()
  const { starts = [] } = command
  const slot = (name: 'collectData') => host.slot(name)
  await host.startOnly(typeof starts === 'function' ? await starts({ host: host.view, slot } as unknown as CommandContext) : starts)
  const context = {
    ...{ cwd: place.dataDir, host: host.view, args, options, confirm: async () => undefined },
    slot,
    print: { json: false, line: (text: string) => said.push(text), error: (text: string) => said.push(text) },
  } as unknown as CommandContext
  try {
    await (command.run as (given: CommandContext) => Promise<unknown>)(context)
  } finally {
    await host.stop('done')
  }
  return said.join('\n')
}

export const exportFrom = (place: Place, out: string): Promise<string> => run(place, dataExportCommand, {}, { out })
export const importTo = (place: Place, file: string, options: object = {}): Promise<string> =>
  run(place, dataImportCommand, { file }, { replace: false, ...options })

/** The number of records by plugin, as a message of an export or import names them, without those that have none. */
export const countsIn = (message: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...message.matchAll(/([\w-]+) (?:\([^)]+\) has )?(\d+)(?=,| records?\b|$)/gm)].flatMap(([, plugin = '', count]) =>
      Number(count) === 0 ? [] : [[plugin, Number(count)] as const],
    ),
  )

type Json = Record<string, unknown>

/** The records of a file in a form that can be compared: JSON is parsed, and times that are counted down are rounded. */
export async function recordsOf(file: string): Promise<readonly Json[]> {
  const lines = (await readFile(file, 'utf8')).trim().split('\n').slice(1, -1)
  const records = lines.map((line) => normal(JSON.parse(line)) as Json)
  // What Redis keeps without an order.
  const key = (record: Json): string =>
    record.part === 'kv' || record.deduplication || record.next || record.children ? JSON.stringify(record) : ''
  return records
    .map((record, i) => ({ record, i }))
    .sort((a, b) => (key(a.record) < key(b.record) ? -1 : key(a.record) > key(b.record) ? 1 : a.i - b.i))
    .map(({ record }) => record)
}

const jsonFields = new Set(['data', 'progress', 'result', 'stacks'])

function normal(value: unknown, name = ''): unknown {
  if (name === 'expiresAt') return Math.round(Number(value) / 60_000)
  // The result of a child.
  if (name === 'value' && typeof value === 'string' && value.startsWith('{')) return { json: JSON.parse(value) as unknown }
  if (jsonFields.has(name) && typeof value === 'string') return { json: JSON.parse(value) as unknown }
  if (Array.isArray(value))
    return name === 'children'
      ? value.map((one) => normal(one)).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
      : value.map((one) => normal(one))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, normal(field, key)]))
}

export const fileIn = ({ dataDir }: Place, name: string): string => join(dataDir, name)

/** The stores alone. */
export const stores = (): Plugin[] => [database(), kv(), queues()]
