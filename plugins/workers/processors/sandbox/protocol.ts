// Also runs in the threads and processes of processors: keep its imports light.
import type { Tsx } from 'zin'
import type { ExportNames } from '../exported.js'
import { readWireError, type WireError } from './wire-error.js'

/** The fields of its job that a processor receives, besides the methods. */
export const jobFields = [
  'id',
  'name',
  'data',
  'opts',
  'attemptsMade',
  'attemptsStarted',
  'stalledCounter',
  'timestamp',
  'processedOn',
  'queueName',
  'priority',
  'delay',
  'progress',
  'parent',
  'parentKey',
  'deduplicationId',
] as const

/** Methods of the real job that a processor may call. */
export const jobMethods = [
  'updateProgress',
  'updateData',
  'log',
  'extendLock',
  'moveToDelayed',
  'moveToWait',
  'moveToWaitingChildren',
  'getChildrenValues',
  'getIgnoredChildrenFailures',
] as const
export type JobMethod = (typeof jobMethods)[number]

export type JobFields = Readonly<Partial<Record<(typeof jobFields)[number], unknown>>>

/** File descriptor to which the watchdog thread of a process writes its memory use in MiB before it kills the process. */
export const watchFd = 4

/** Maximum number of pending calls of one job; further ones wait in the thread or process. */
export const maxCalls = 64

export type ToChild =
  | { readonly type: 'load'; readonly file: string; readonly exports: ExportNames; readonly tsx: Tsx | undefined }
  | { readonly type: 'run'; readonly run: number; readonly job: JobFields; readonly token: string | undefined }
  | { readonly type: 'abort'; readonly run: number; readonly reason: string | WireError }
  | { readonly type: 'reply'; readonly run: number; readonly call: number; readonly value?: unknown; readonly error?: WireError }

export type FromChild =
  | { readonly type: 'ready' }
  | { readonly type: 'unloadable'; readonly why: string; readonly missing: boolean }
  /** `json` is undefined if the result is undefined. */
  | { readonly type: 'done'; readonly run: number; readonly json: string | undefined }
  | { readonly type: 'failed'; readonly run: number; readonly error: WireError }
  | { readonly type: 'call'; readonly run: number; readonly call: number; readonly method: JobMethod; readonly args: readonly unknown[] }
  /** Sent after the outcome: what the run left behind, such as timers; empty if the thread or process can run the next job. */
  | { readonly type: 'rest'; readonly run: number; readonly left: readonly string[] }
  /** Code failed that nothing caught, or ended the thread or process. `run`: the run whose code it is, if that is known. */
  | { readonly type: 'fatal'; readonly error: WireError; readonly run: number | undefined }

/** How a child sends a message: code of the processor may send its own, such as `process.send('ready')`. */
export interface Envelope {
  readonly zinProcessor: FromChild
}

/** Longest reason why a processor did not load, in characters. */
const mostWhy = 10_000

/** Maximum number of leftovers that are named. */
const mostLeft = 10

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null

/** Returns a message of the child; undefined for anything else that its code sent. Pure. */
export function fromChild(sent: unknown): FromChild | undefined {
  const message = isObject(sent) ? sent.zinProcessor : undefined
  if (!isObject(message)) return undefined
  const { args, call, error, json, left, method, missing, run, type, why } = message
  if (type === 'ready') return { type }
  if (type === 'unloadable') return typeof why === 'string' ? { type, why: why.slice(0, mostWhy), missing: missing === true } : undefined
  if (type === 'fatal') return { type, error: readWireError(error), run: isNumber(run) ? run : undefined }
  if (!isNumber(run)) return undefined
  if (type === 'rest') return Array.isArray(left) ? { type, run, left: left.slice(0, mostLeft).map(nameOf) } : undefined
  if (type === 'failed') return { type, run, error: readWireError(error) }
  if (type === 'done') return json === undefined || typeof json === 'string' ? { type, run, json } : undefined
  const known = jobMethods.find((one) => one === method)
  return type === 'call' && isNumber(call) && known !== undefined && Array.isArray(args)
    ? { type, run, call, method: known, args }
    : undefined
}

/** Limit on messages that are not of the entry, of one child: more are a flood. */
const mostForeign = 1_000

/** Returns a listener that passes on the messages of the entry, and ends a child whose code floods this process. */
export function messageReader(listener: (message: FromChild) => void, kill: (why: string) => void): (sent: unknown) => void {
  let foreign = 0
  return (sent) => {
    const message = fromChild(sent)
    if (message !== undefined) return listener(message)
    if (++foreign > mostForeign) kill(`its code sent more than ${mostForeign} messages of its own`)
  }
}

const nameOf = (sent: unknown): string => (typeof sent === 'string' ? sent.slice(0, 100) : 'something')

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value)
