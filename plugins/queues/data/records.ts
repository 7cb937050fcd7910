import type { DataRecord } from 'zin'
import { isStorableText } from '../job-check.js'
import { isJobId } from '../job-id.js'

/** States of the jobs in an export: one that was running waits again. */
export const states = ['waiting', 'delayed', 'waiting-children', 'completed', 'failed'] as const

/** A job in the terms of both stores. Times are ms since 1970; `data`, `progress`, `result` and `stacks` are JSON in stored form. */
export interface MovedJob {
  readonly id: string
  readonly name: string
  readonly state: (typeof states)[number]
  /** Whether it was running. */
  readonly ran?: true
  readonly data: string
  /** With the names that BullMQ has in code. Of a child, `parent.queue` is the name of the queue. */
  readonly opts: Readonly<Record<string, unknown>>
  readonly priority: number
  readonly delay: number
  readonly addedAt: number
  /** Of a delayed job: when it becomes ready. */
  readonly readyAt?: number
  readonly startedAt?: number
  readonly endedAt?: number
  readonly attempts: number
  readonly starts: number
  readonly stalls: number
  readonly progress?: string
  readonly result?: string
  readonly error?: string
  readonly stacks?: string
  /** Why it fails when a worker takes it. */
  readonly failing?: string
  readonly worker?: string
  readonly deduplication?: string
  readonly schedule?: string
  readonly parent?: { readonly queue: string; readonly id: string }
}

/** Lines of the log of a job, after the job. */
export interface MovedLog {
  readonly job: string
  /** Number of the first of the lines, counted from the first line that was ever written. */
  readonly from: number
  readonly lines: readonly string[]
}

export const childStates = ['pending', 'processed', 'ignored', 'failed'] as const

/** Children that a job waits for or has waited for, after the job. */
export interface MovedChildren {
  readonly job: string
  readonly children: readonly {
    readonly queue: string
    readonly id: string
    readonly state: (typeof childStates)[number]
    /** Of a processed one its result, as JSON; of an ignored one why it failed. */
    readonly value?: string
  }[]
}

export interface MovedSchedule {
  readonly id: string
  readonly next: number
  readonly name: string
  readonly pattern?: string
  readonly every?: number
  readonly tz?: string
  readonly startDate?: number
  readonly endDate?: number
  readonly limit?: number
  readonly offset?: number
  readonly count: number
  /** JSON. */
  readonly data?: string
  readonly opts?: Readonly<Record<string, unknown>>
}

export interface MovedDeduplication {
  readonly id: string
  readonly job: string
  readonly expiresAt?: number
}

/** What is to run after the running job that has a deduplication id. */
export interface MovedNext {
  /** Of the deduplication. */
  readonly id: string
  readonly job?: string
  readonly name: string
  /** JSON. */
  readonly data: string
  readonly opts: Readonly<Record<string, unknown>>
}

/** The queue itself. */
export interface MovedQueue {
  /** Whether it is paused, and its limits, as BullMQ stores them. */
  readonly meta: Readonly<Record<string, string>>
  /** The highest number that BullMQ has given to a job as its id. */
  readonly lastId?: number
}

export interface Moved {
  readonly queue: MovedQueue
  readonly job: MovedJob
  readonly log: MovedLog
  readonly children: MovedChildren
  readonly schedule: MovedSchedule
  readonly deduplication: MovedDeduplication
  readonly next: MovedNext
}

/** A record of one kind: its key is the kind. */
export type QueueRecord = { readonly of: string } & Partial<Moved>

/** The fields of the settings of a queue that are moved: BullMQ writes the others itself. */
export const movedMeta: ReadonlySet<string> = new Set(['paused', 'concurrency', 'max', 'duration'])

type Check = (value: unknown) => boolean
/** Also that of the run of a schedule. */
const jobId: Check = (value) =>
  text(value) && isJobId(value as string) && (!(value as string).includes(':') || (value as string).startsWith('repeat:'))
const text: Check = (value) => typeof value === 'string' && isStorableText(value)
const integer: Check = (value) => Number.isSafeInteger(value)
const count: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0
/** As many as the embedded store can note. */
const few: Check = (value) => count(value) && Number(value) < 2 ** 31
const json: Check = (value) => {
  if (typeof value !== 'string' || !text(value) || /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i.test(value)) return false
  try {
    JSON.parse(value)
    return true
  } catch {
    return false
  }
}
const plain: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && json(JSON.stringify(value))
/** Options of a job. Other producers than Zin may have set `attempts` to any number. */
const options: Check = (value) => plain(value) && ['undefined', 'number'].includes(typeof (value as { attempts?: unknown }).attempts)
const one =
  (values: readonly string[]): Check =>
  (value) =>
    values.includes(value as string)
const list =
  (each: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(each)
const fields =
  (required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>> = {}): Check =>
  (value) =>
    plain(value) && faultIn(value as object, required, optional) === undefined

/** The first field that is missing, wrong or unknown. */
function faultIn(value: object, required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>>): string | undefined {
  const given = value as Readonly<Record<string, unknown>>
  return (
    Object.keys(required).find((name) => required[name]?.(given[name]) !== true) ??
    Object.keys(given).find((name) => !(name in required) && !(name in optional && optional[name]?.(given[name]) === true))
  )
}

type Shape = readonly [required: Readonly<Record<string, Check>>, optional: Readonly<Record<string, Check>>]

const queueName: Check = (value) => typeof value === 'string' && /^[A-Za-z0-9_.-]{1,100}$/.test(value)
const place = fields({ queue: queueName, id: jobId })
const shapes: Readonly<Record<keyof Moved, Shape>> = {
  queue: [
    { meta: (value) => plain(value) && Object.entries(value as object).every(([k, v]) => movedMeta.has(k) && text(v)) },
    { lastId: count },
  ],
  job: [
    {
      ...{ id: jobId, name: text, state: one(states), data: json, opts: options, priority: few, delay: count, addedAt: integer },
      ...{ attempts: few, starts: few, stalls: few },
    },
    {
      ...{ ran: (value) => value === true, readyAt: integer, startedAt: integer, endedAt: integer, progress: json, result: json },
      ...{ error: text, stacks: json, failing: text, worker: text, deduplication: text, schedule: text, parent: place },
    },
  ],
  log: [{ job: jobId, from: count, lines: list(text) }, {}],
  children: [{ job: jobId, children: list(fields({ queue: queueName, id: jobId, state: one(childStates) }, { value: text })) }, {}],
  schedule: [
    { id: text, next: integer, name: text, count: few },
    {
      ...{ pattern: text, every: count, tz: text, startDate: integer, endDate: integer, limit: count, offset: integer },
      ...{ data: json, opts: options },
    },
  ],
  deduplication: [{ id: text, job: jobId }, { expiresAt: integer }],
  next: [{ id: text, name: text, data: json, opts: options }, { job: jobId }],
}

/** Checks the records of a file, and that logs and children come after their jobs. Throws an error that says what is wrong. */
export function recordChecker(): (record: DataRecord) => void {
  let last: { readonly queue: string; readonly job: string } | undefined
  return ({ of, ...rest }) => {
    if (!queueName(of)) throw new Error(`"${of.slice(0, 120)}" is not the name of a queue`)
    const [[kind, value] = [], ...more] = Object.entries(rest)
    const shape = kind === undefined || more.length > 0 ? undefined : (shapes as Readonly<Record<string, Shape>>)[kind]
    if (shape === undefined || kind === undefined)
      throw new Error(`a record of the queue "${of}" is none of ${Object.keys(shapes).join(', ')}`)
    const fault = typeof value === 'object' && value !== null ? faultIn(value, ...shape) : kind
    if (fault !== undefined)
      throw new Error(`the field "${fault.slice(0, 50)}" of a ${kind} of the queue "${of}" is missing, unknown or wrong`)
    if (kind === 'job') {
      const job = value as MovedJob
      if (job.state === 'delayed' && job.readyAt === undefined) throw new Error(`a delayed job of the queue "${of}" has no "readyAt"`)
      if ((job.state === 'completed' || job.state === 'failed') && job.endedAt === undefined)
        throw new Error(`a ${job.state} job of the queue "${of}" has no "endedAt"`)
      last = { queue: of, job: job.id }
    }
    if (kind !== 'log' && kind !== 'children') return
    const { job } = value as MovedLog
    if (last?.queue !== of || last.job !== job)
      throw new Error(`${kind === 'log' ? 'a log' : 'children'} of the queue "${of}" do not follow their job`)
  }
}

/** Whether a queue has something to move besides its jobs. */
export const isNeeded = ({ lastId, meta }: MovedQueue): boolean => lastId !== undefined || Object.keys(meta).length > 0

/** What the size of a store counts: the rest belongs to jobs and queues. */
export const isCounted = ({ job, schedule }: Readonly<Record<string, unknown>>): boolean => job !== undefined || schedule !== undefined

/** The jobs of a page in groups of limited size. */
export function groupsOf(sized: readonly { readonly id: string; readonly bytes: number }[]): readonly (readonly string[])[] {
  const groups: string[][] = []
  let sum = 0
  for (const { bytes, id } of sized) {
    const group = groups.at(-1)
    sum += bytes
    if (group !== undefined && sum <= mostBytes && group.length < mostJobs) group.push(id)
    else {
      groups.push([id])
      sum = bytes
    }
  }
  return groups
}

const [mostBytes, mostJobs] = [4 * 2 ** 20, 200]

/** Lines of a log in records of limited size. */
export function* logRecords(of: string, job: string, from: number, lines: readonly string[]): Generator<QueueRecord, void, undefined> {
  let some: string[] = []
  let [at, size] = [from, 0]
  for (const line of lines) {
    if (some.length > 0 && size + line.length > 2 ** 18) {
      yield { of, log: { job, from: at, lines: some } }
      at += some.length
      some = []
      size = 0
    }
    some.push(line)
    size += line.length
  }
  if (some.length > 0) yield { of, log: { job, from: at, lines: some } }
}

/** Without the fields that are undefined or null. */
export function present<T extends object>(value: { readonly [K in keyof T]: T[K] | undefined | null }): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined && field !== null)) as T
}

/** What a person should know about jobs that were running. */
export function ranNotes(count: number): readonly string[] {
  if (count === 0) return []
  return [
    `${count} ${count === 1 ? 'job was running when the app ended; it waits' : 'jobs were running when the app ended; they wait'} again and will run anew`,
  ]
}
