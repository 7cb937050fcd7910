/** Reads a file; undefined if it does not exist or cannot be read. */
export type ReadText = (path: string) => Promise<string | undefined>

/** Limits and usage from the cgroup of a process. */
export interface CgroupUsage {
  /** Cores; null without a quota. */
  readonly cpuLimit: number | null
  /** Time for which threads were throttled since the cgroup was created, in ms; null if unknown. */
  readonly throttledMs: number | null
  /** Bytes without reclaimable file cache; null without a limit. */
  readonly memory: number | null
  /** Bytes; null without a limit. */
  readonly memoryLimit: number | null
}

export const noCgroup: CgroupUsage = { cpuLimit: null, throttledMs: null, memory: null, memoryLimit: null }

/** The path of a process in each hierarchy, from the text of `/proc/self/cgroup`. */
export interface CgroupPaths {
  /** Path in the unified hierarchy (version 2). */
  readonly unified?: string
  /** Paths of version 1 by controller. */
  readonly controllers: ReadonlyMap<string, string>
}

export function parseCgroupPaths(text: string): CgroupPaths {
  const controllers = new Map<string, string>()
  let unified: string | undefined
  for (const line of text.split('\n')) {
    const [, names, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []
    if (names === undefined || path === undefined) continue
    if (names === '') unified = path
    else for (const name of names.split(',')) controllers.set(name, path)
  }
  return { ...(unified === undefined ? {} : { unified }), controllers }
}

/** Version 1 writes "no limit" as the largest number that is a multiple of the page size. */
const unlimited = 2 ** 60

/** Parses a limit in bytes; null if there is none. */
export function parseLimit(text: string | undefined): number | null {
  const value = parseNumber(text)
  return value === null || value >= unlimited ? null : value
}

/** Parses cores from `cpu.max` of version 2: `<quota> <period>` or `max <period>`, in µs. */
export function parseCpuMax(text: string | undefined): number | null {
  const [quota, period] = (text ?? '').trim().split(/\s+/)
  return coresOf(parseNumber(quota), parseNumber(period))
}

/** Returns the cores of a quota and its period in µs; null if there is no quota (-1). */
export function coresOf(quota: number | null, period: number | null): number | null {
  return quota === null || period === null || quota <= 0 || period <= 0 ? null : quota / period
}

/** Returns a field of a flat keyed file such as `cpu.stat`; null if it is missing. */
export function parseField(text: string | undefined, name: string): number | null {
  const line = (text ?? '').split('\n').find((one) => one.startsWith(`${name} `))
  return parseNumber(line?.slice(name.length + 1))
}

function parseNumber(text: string | undefined): number | null {
  const trimmed = text?.trim() ?? ''
  return /^-?\d+$/.test(trimmed) ? Number(trimmed) : null
}

/** `/a/b` → `/a/b`, `/a`, and the root, because limits of ancestors apply too. In a container, the root is the container's own cgroup. */
export function withAncestors(path: string): readonly string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '..')
  return parts.map((_, index) => `/${parts.slice(0, parts.length - index).join('/')}`).concat('')
}

const mount = '/sys/fs/cgroup'

/** Reads limits and usage of the process's cgroup, version 2 or 1; `noCgroup` where there is none, such as on macOS and Windows. */
export async function readCgroup(read: ReadText): Promise<CgroupUsage> {
  const text = await read('/proc/self/cgroup')
  if (text === undefined) return noCgroup
  const { unified, controllers } = parseCgroupPaths(text)
  const [memory, cpu] = await Promise.all([
    controllers.has('memory') ? readMemoryV1(read, controllers.get('memory') ?? '/') : readMemoryV2(read, unified ?? '/'),
    controllers.has('cpu') ? readCpuV1(read, controllers.get('cpu') ?? '/') : readCpuV2(read, unified ?? '/'),
  ])
  return { ...memory, ...cpu }
}

type Memory = Pick<CgroupUsage, 'memory' | 'memoryLimit'>
type Cpu = Pick<CgroupUsage, 'cpuLimit' | 'throttledMs'>

async function readMemoryV2(read: ReadText, path: string): Promise<Memory> {
  return tightest(
    await Promise.all(
      withAncestors(path).map(async (one) => {
        const at = `${mount}${one}`
        const [max, current, stat] = await Promise.all([read(`${at}/memory.max`), read(`${at}/memory.current`), read(`${at}/memory.stat`)])
        return memoryOf(parseLimit(max), parseLimit(current), parseField(stat, 'inactive_file'))
      }),
    ),
  )
}

async function readMemoryV1(read: ReadText, path: string): Promise<Memory> {
  return tightest(
    await Promise.all(
      withAncestors(path).map(async (one) => {
        const at = `${mount}/memory${one}`
        const [limit, usage, stat] = await Promise.all([
          read(`${at}/memory.limit_in_bytes`),
          read(`${at}/memory.usage_in_bytes`),
          read(`${at}/memory.stat`),
        ])
        return memoryOf(parseLimit(limit), parseLimit(usage), parseField(stat, 'total_inactive_file'))
      }),
    ),
  )
}

function memoryOf(memoryLimit: number | null, usage: number | null, reclaimable: number | null): Memory {
  if (memoryLimit === null || usage === null) return { memory: null, memoryLimit }
  return { memory: Math.max(0, usage - (reclaimable ?? 0)), memoryLimit }
}

/** Returns the level with the least memory left. */
function tightest(all: readonly Memory[]): Memory {
  const room = ({ memory, memoryLimit }: Memory): number => (memoryLimit ?? Number.POSITIVE_INFINITY) - (memory ?? 0)
  return all.reduce((least, one) => (room(one) < room(least) ? one : least), { memory: null, memoryLimit: null })
}

async function readCpuV2(read: ReadText, path: string): Promise<Cpu> {
  const levels = await Promise.all(
    withAncestors(path).map(async (one) => {
      const [max, stat] = await Promise.all([read(`${mount}${one}/cpu.max`), read(`${mount}${one}/cpu.stat`)])
      const throttled = parseField(stat, 'throttled_usec')
      return { cpuLimit: parseCpuMax(max), throttledMs: throttled === null ? null : throttled / 1e3 }
    }),
  )
  return strictest(levels)
}

async function readCpuV1(read: ReadText, path: string): Promise<Cpu> {
  const levels = await Promise.all(
    withAncestors(path).map(async (one) => {
      const at = `${mount}/cpu${one}`
      const [quota, period, stat] = await Promise.all([
        read(`${at}/cpu.cfs_quota_us`),
        read(`${at}/cpu.cfs_period_us`),
        read(`${at}/cpu.stat`),
      ])
      const throttled = parseField(stat, 'throttled_time')
      return {
        cpuLimit: coresOf(parseNumber(quota), parseNumber(period)),
        throttledMs: throttled === null ? null : throttled / 1e6,
      }
    }),
  )
  return strictest(levels)
}

/** Returns the smallest quota, with the throttling of its level. */
function strictest(levels: readonly Cpu[]): Cpu {
  const quota = ({ cpuLimit }: Cpu): number => cpuLimit ?? Number.POSITIVE_INFINITY
  return levels.reduce((least, one) => (quota(one) < quota(least) ? one : least), levels[0] ?? { cpuLimit: null, throttledMs: null })
}
