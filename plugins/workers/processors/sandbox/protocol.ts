// Also runs in the threads and processes of processors: keep its imports light.
import type { ExportNames } from '../exported.js'
import type { WireError } from './wire-error.js'

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
] as const
export type JobMethod = (typeof jobMethods)[number]

export type JobFields = Readonly<Partial<Record<(typeof jobFields)[number], unknown>>>

/** File descriptor to which the watchdog thread of a process writes its memory use in MiB before it kills the process. */
export const watchFd = 4

/** Maximum number of pending calls of one job; further ones wait in the thread or process. */
export const maxCalls = 64

export type ToChild =
  | { readonly type: 'load'; readonly file: string; readonly exports: ExportNames; readonly typescript: boolean }
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
  /** The process is about to exit because of an uncaught error. */
  | { readonly type: 'fatal'; readonly error: WireError }
