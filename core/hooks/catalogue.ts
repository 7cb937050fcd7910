import type { DataPart } from '../data/part.js'
import type { Address } from '../util/address.js'
import type { StoreInfo } from '../util/stores.js'
import type { Collect, First, Gate, HookSpecs, Notify, Settle, Waterfall } from './kinds.js'
import type { ActionEnd, ManagementAction } from './manage.js'

/** Result of one readiness check. */
export interface ReadinessReport {
  readonly ready: boolean
  /** Integer ms. */
  readonly responseTime: number
  readonly error?: string
}

/** What a plugin contributed to a backup of the data directory. */
export interface BackupPart {
  /** Names in the data directory that the plugin has copied, or that do not belong into a backup. The others are copied as they are. */
  readonly entries: readonly string[]
  /** Data of the plugin that is not in the data directory, and how to back it up. */
  readonly elsewhere?: string
}

interface MetricHead {
  /** Letters, digits and `_`, with a base unit: `shop_order_bytes`, `shop_wait_seconds`. Names of counters, and only those, end in `_total`. */
  readonly name: string
  readonly help: string
  /** Every sample of a metric has the same label names. */
  readonly labels?: Readonly<Record<string, string>>
}

/** One measured value and its trace. */
export interface MetricExemplar {
  /** W3C trace id. */
  readonly traceId: string
  readonly value: number
  /** ms since 1970. */
  readonly at: number
}

/** A counter, which only grows after the plugin has started, or a gauge, which is a current value. */
export interface MetricValue extends MetricHead {
  readonly type: 'counter' | 'gauge'
  readonly value: number
}

/** A histogram: the number of measured values per bucket. Histograms with the same bounds can be added up. */
export interface MetricHistogram extends MetricHead {
  readonly type: 'histogram'
  /** Upper bounds of the buckets, ascending, without the infinite one. */
  readonly bounds: readonly number[]
  /** Number of values in each bucket (not cumulative), plus one entry for values above the last bound. */
  readonly counts: readonly number[]
  /** Sum of all values. */
  readonly sum: number
  /** The latest value with a trace in each bucket. */
  readonly exemplars?: readonly (MetricExemplar | undefined)[]
}

/** One series of a plugin, in Prometheus terms. */
export type MetricSample = MetricValue | MetricHistogram

/** Argument of `onListenerMuted`: a listener that failed too often. */
export interface MutedListener {
  readonly plugin: string
  readonly hook: string
  readonly failures: number
  readonly error: Error
}

/**
 * Something that a person should look at, as a plugin knows it from facts on the server. `kind`, `subject` and `key` identify it: as long as
 * its cause lasts, report them unchanged.
 */
export interface AttentionFact {
  /** kebab-case, the same for all facts of this kind: `mailbox-full`. */
  readonly kind: string
  /** What it is about, as `<type>:<id>`: `worker:emails`, `queue:mails`. */
  readonly subject: string
  /** Tells facts of the same kind and subject apart, such as the id of a schedule. Default: none. */
  readonly key?: string
  /** `bad`: something does not work. `warn` (default): it may stop working, or waits for a person. */
  readonly severity?: 'bad' | 'warn'
  /** What is wrong, as a sentence with its numbers that a person can act on; cut at 500 characters. It is
   * stored and shown to all operators: no payloads, errors of jobs or secrets. */
  readonly cause: string
  /** Since when, in ms since 1970. Default: since it was first reported. */
  readonly since?: number
  /** How many jobs, deliveries or the like it is about. Default 1. */
  readonly count?: number
  /** The queue that it concerns, or `*` for all: credentials for queues see only facts of their queues. Default: not about queues. */
  readonly queue?: string
  /** What to do next: the label and the path of a page of the console: `{ label: 'Open the queue', href: '/console/queues/mails' }`. */
  readonly act: { readonly label: string; readonly href: string }
  /** How long it must last before a person is told, in ms. Default 0. */
  readonly afterMs?: number
}

/** What a plugin found, and what it could not check. */
export interface AttentionReport {
  readonly facts: readonly AttentionFact[]
  /** Kinds that could not be checked, fully or at all, with the reason as a sentence. A listener that throws counts as not checked. */
  readonly notChecked?: readonly { readonly kind: string; readonly reason: string }[]
}

/** The body of every error response. */
export interface ErrorBody {
  readonly error: string
  readonly message: string
  readonly code: string
  readonly details?: unknown
  readonly [extra: string]: unknown
}

/** The request as passed to the hooks for request errors; never headers or bodies. */
export interface FailedRequest {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly status: number
}

/** A request whose response has ended, as passed to hooks; never its address, query, headers or body. */
export interface EndedRequest {
  readonly id: string
  readonly method: string
  /** The path of its route as registered, such as `/api/workers/:name`; undefined if no route matched. */
  readonly route: string | undefined
  /** As sent; of a response that was cut because of an error after its head had been sent, the status of that error: 500 or higher. */
  readonly status: number
  /** Time from its arrival to the end of the response, in ms. */
  readonly ms: number
  /** Whether the client received the whole response. */
  readonly complete: boolean
  /** W3C id of its trace, if a plugin traces it and the trace is sampled. */
  readonly traceId: string | undefined
}

/** A request that a command of the CLI is about to send to the running app. */
export interface CommandRequest {
  readonly method: string
  /** Complete URL, with the query. */
  readonly url: string
  /** As sent; undefined without a body. */
  readonly body: string | undefined
  readonly contentType: string | undefined
}

/** The headers that a plugin adds to a command's request to authorize it in the running app. */
export interface CommandCredential {
  /** Empty when this environment has no credential. */
  readonly headers: Readonly<Record<string, string>>
  /** Hint for the user when the app still responds with 401. */
  readonly onRefusal: string
}

/** Hooks that the core itself fires. */
export interface CoreHooks {
  onReady: Settle<[address: Address | undefined]>
  onClose: Settle<[reason: string]>
  onRequestEnd: Notify<[request: EndedRequest]>
  onRequestError: Notify<[error: Error, request: FailedRequest]>
  onAccessEnded: Settle<[userId: string]>
  onListenerMuted: Notify<[listener: MutedListener]>
  onPluginEnabled: Notify<[plugin: string]>
  onPluginDisabled: Notify<[plugin: string]>
  beforePluginStart: Gate<[plugin: string]>
  beforeManagementAction: Gate<[action: ManagementAction]>
  onManagementAction: Settle<[action: ManagementAction, end: ActionEnd]>
  authorizeCommand: First<[request: CommandRequest], CommandCredential>
  transformErrorBody: Waterfall<ErrorBody, [error: Error, request: FailedRequest]>
  collectReadiness: Collect<[], ReadinessReport>
  collectMetrics: Collect<[], readonly MetricSample[]>
  collectAttention: Collect<[where: 'app' | 'process'], AttentionReport>
  collectFatalFacts: Collect<[error: unknown], Readonly<Record<string, unknown>>>
  purgeData: Collect<[before: number], readonly string[]>
  collectBackup: Collect<[folder: string], BackupPart>
  checkBackup: Collect<[folder: string], string>
  collectData: Collect<[], DataPart>
  collectStores: Collect<[], readonly StoreInfo[]>
}

export const coreHooks = {
  onReady: {
    kind: 'settle',
    args: ['address'],
    summary: 'The app has started and is listening; `address` is undefined if it serves no HTTP',
  },
  onClose: { kind: 'settle', args: ['reason'], summary: 'Shutdown begins; readiness returns 503 from now on' },
  onRequestEnd: { kind: 'notify', args: ['request'], summary: 'A response has ended, including those of probes' },
  onRequestError: { kind: 'notify', args: ['error', 'request'], summary: 'A request ended with a 5xx response' },
  onAccessEnded: {
    kind: 'settle',
    args: ['userId'],
    summary:
      'A token, device or session of a user has ended, on this process: what outlasts its request checks its `accessOf` again. Whoever ends one fires it, after the store knows',
  },
  onListenerMuted: { kind: 'notify', args: ['listener'], summary: 'A listener failed 50 times in a row and is muted for a while' },
  onPluginEnabled: { kind: 'notify', args: ['plugin'], summary: 'A plugin was enabled after boot' },
  onPluginDisabled: { kind: 'notify', args: ['plugin'], summary: 'A plugin was disabled at run time' },
  beforePluginStart: {
    kind: 'gate',
    args: ['plugin'],
    summary: 'All plugins are set up and this one is about to start; deny to make it fail',
    timeoutMs: 30_000,
  },
  beforeManagementAction: {
    kind: 'gate',
    args: ['action'],
    summary: 'A plugin is about to perform a management action, such as removing a device; deny to prevent it. See `ctx.manage`',
  },
  onManagementAction: {
    kind: 'settle',
    args: ['action', 'end'],
    summary:
      'A management action has completed, failed or been denied; its caller gets the result afterwards. `action` is the object that `beforeManagementAction` received',
  },
  authorizeCommand: {
    kind: 'first',
    args: ['request'],
    summary: 'A CLI command is about to send a request to the running app; a listener returns the headers that authorize it',
  },
  transformErrorBody: {
    kind: 'waterfall',
    args: ['body', 'error', 'request'],
    summary: 'An error response is about to be sent; listeners may change its body',
  },
  collectReadiness: { kind: 'collect', args: [], summary: 'Readiness is requested; each listener reports the readiness of its plugin' },
  collectFatalFacts: {
    kind: 'collect',
    args: ['error'],
    summary: 'Nothing caught an error, so the app stops; each listener returns fields for the log line, such as what was running',
    timeoutMs: 500,
  },
  collectMetrics: { kind: 'collect', args: [], summary: 'Metrics are requested; each listener returns the samples of its plugin' },
  collectAttention: {
    kind: 'collect',
    args: ['where'],
    summary:
      'What needs attention is checked, every 15 s or more often. With `app`, on one process: facts about the whole app, from its stores. With `process`, on every process: facts that only this one knows, without I/O. Each listener returns those of its plugin',
    timeoutMs: 3_500,
  },
  purgeData: {
    kind: 'collect',
    args: ['before'],
    summary:
      'Data older than `before` (ms since 1970) must be deleted; fired on one node. Each plugin deletes its own data in short steps and returns the names of what it deletes, as `<plugin>.<data>`',
    timeoutMs: 30_000,
  },
  collectBackup: {
    kind: 'collect',
    args: ['folder'],
    summary:
      'The data directory is being copied to `folder`, by a command and, if the app runs, also in the app (`host.roles` is empty in a command). Each plugin copies those of its files that cannot be copied while they are used',
    timeoutMs: 600_000,
  },
  checkBackup: {
    kind: 'collect',
    args: ['folder'],
    summary: 'A backup in `folder` is complete; each plugin opens its part and returns what it found, as text',
    timeoutMs: 600_000,
  },
  collectData: {
    kind: 'collect',
    args: [],
    summary:
      '`zin data:export` or `data:import` runs, and no app; each plugin that keeps data elsewhere than in tables of its migrations returns how it is read and written',
  },
  collectStores: {
    kind: 'collect',
    args: [],
    summary:
      '`zin info` or `zin doctor` runs; each plugin returns the stores that it is configured to use, and how to check them. Nothing is started, and nothing is opened before the check',
  },
} satisfies HookSpecs<CoreHooks>

/**
 * Every hook by name. A plugin extends it with its own hooks:
 *
 * @example
 * interface MailHooks {
 *   onMailSent: Notify<[id: string]>
 * }
 * declare module 'zin' {
 *   interface HookMap extends MailHooks {}
 * }
 */
export interface HookMap extends CoreHooks {}

export type HookName = keyof HookMap & string
