import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Job } from 'bullmq'
import { type Clock, type HostView, type Logger, systemClock } from 'zin'
import { workerSettings } from '../settings.js'
import type { ProcessorSpec, WorkerProcessor } from './processor.js'
import { Processors, type ProcessorsParts } from './processors.js'
import { ProcessorRegistry } from './registry.js'
import { jobMethods } from './sandbox/protocol.js'
import type { RemoteSettings } from './url/settings.js'

export interface Bench {
  readonly processors: Processors
  readonly registry: ProcessorRegistry
  /** The processor root. */
  readonly root: string
  readonly dataDir: string
  /** `<level> <message> <facts as JSON>` */
  readonly lines: string[]
  close(): Promise<void>
}

export interface BenchOptions extends Partial<Pick<ProcessorsParts, 'options' | 'egress'>> {
  readonly files?: Readonly<Record<string, string>>
  readonly settings?: Partial<RemoteSettings>
  readonly production?: boolean
  readonly clock?: Clock
  readonly dataDir?: string
  readonly hook?: (worker: string) => WorkerProcessor | undefined
}

/** Opens the processors of a host in a new folder with the given files. */
export async function openBench(given: BenchOptions = {}): Promise<Bench> {
  const { files = {}, settings, production = false, clock = systemClock, hook, options = {}, egress } = given
  const root = await mkdtemp(join(tmpdir(), 'zin-bench-'))
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true })
    await writeFile(join(root, name), text)
  }
  const dataDir = given.dataDir ?? join(root, '.zin/data')
  const lines: string[] = []
  const registry = new ProcessorRegistry()
  const defaults = Object.fromEntries(Object.entries(workerSettings).map(([name, spec]) => [name, spec.default]))
  const processors = new Processors({
    registry,
    roots: { app: root, folders: [root] },
    hook: { active: hook !== undefined, call: async (worker: string) => hook?.(worker) } as ProcessorsParts['hook'],
    settings: { ...(defaults as unknown as RemoteSettings), PROCESSOR_FETCH_RETRY_BACKOFF_MS: 1, ...settings },
    options,
    host: { app: { dataDir, production, environment: production ? 'production' : 'test' } as HostView['app'] },
    clock,
    log: lineLogger(lines),
    ...(egress === undefined ? {} : { egress }),
  })
  const close = async (): Promise<void> => {
    await processors.close()
    await rm(root, { recursive: true, force: true })
  }
  return { processors, registry, root, dataDir, lines, close }
}

export function specOf(processor: string | null, spec: Partial<ProcessorSpec> = {}): ProcessorSpec {
  return { worker: 'emails', version: '1.0.0', processor, isolation: 'inline', concurrency: 1, ...spec }
}

/** A job as processors receive it; `calls` records the method calls on it. */
export function jobOf(
  data: unknown,
  methods: Readonly<Record<string, (...args: readonly unknown[]) => unknown>> = {},
): Job & { readonly calls: unknown[] } {
  const calls: unknown[] = []
  const note =
    (name: string) =>
    (...args: unknown[]) => {
      calls.push([name, ...args])
      return methods[name]?.(...args)
    }
  const job = {
    id: '7',
    name: 'mail',
    queueName: 'emails',
    data,
    opts: { attempts: 3 },
    attemptsMade: 0,
    attemptsStarted: 1,
    timestamp: 5,
    calls,
  }
  return Object.assign(job, Object.fromEntries(jobMethods.map((name) => [name, note(name)]))) as unknown as Job & {
    readonly calls: unknown[]
  }
}

export function lineLogger(lines: string[]): Logger {
  const method =
    (level: string) =>
    (facts: object | string, message = ''): void =>
      void lines.push(typeof facts === 'string' ? `${level} ${facts}` : `${level} ${message} ${JSON.stringify(facts)}`)
  const log: Logger = {
    level: 'trace',
    trace: method('trace'),
    debug: method('debug'),
    info: method('info'),
    warn: method('warn'),
    error: method('error'),
    fatal: method('fatal'),
    child: () => log,
  }
  return log
}
