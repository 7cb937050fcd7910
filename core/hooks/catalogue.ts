import type { Address } from '../util/address.js'
import type { Collect, First, Gate, HookSpecs, Notify, Settle, Waterfall } from './kinds.js'
import type { ActionEnd, ManagementAction } from './manage.js'

/** Result of one readiness check. */
export interface ReadinessReport {
  readonly ready: boolean
  /** Integer ms. */
  readonly responseTime: number
  readonly error?: string
}

interface MetricHead {
  /** Letters, digits and `_`, in base units: `shop_order_bytes`, `shop_wait_seconds`. A counter ends in `_total`, nothing else does. */
  readonly name: string
  readonly help: string
  /** The same names in every sample of a metric. */
  readonly labels?: Readonly<Record<string, string>>
}

/** One measured value with the trace that it belongs to. */
export interface MetricExemplar {
  /** W3C trace id. */
  readonly traceId: string
  readonly value: number
  /** ms since 1970. */
  readonly at: number
}

/** A number of a plugin: what it has counted since it started, or what is now. */
export interface MetricValue extends MetricHead {
  readonly type: 'counter' | 'gauge'
  readonly value: number
}

/** How many values a plugin has measured between which bounds. Histograms with the same bounds can be added up. */
export interface MetricHistogram extends MetricHead {
  readonly type: 'histogram'
  /** Upper bounds of the buckets, rising; the one without a bound is left out. */
  readonly bounds: readonly number[]
  /** Values in each bucket alone, with one more for those above the last bound. */
  readonly counts: readonly number[]
  /** Of all values. */
  readonly sum: number
  /** The last value with a trace in each bucket. */
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

/** The body of every error response. */
export interface ErrorBody {
  readonly error: string
  readonly message: string
  readonly code: string
  readonly details?: unknown
  readonly [extra: string]: unknown
}

/** The request as passed to request error hooks; never headers or bodies. */
export interface FailedRequest {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly status: number
}

/** A request whose response has ended, as hooks see it; never its address, query, headers or body. */
export interface EndedRequest {
  readonly id: string
  readonly method: string
  /** The path of its route as registered, such as `/api/workers/:name`; undefined when no route matched. */
  readonly route: string | undefined
  readonly status: number
  /** From its arrival to the end of the response, ms. */
  readonly ms: number
  /** Whether the client received the whole response. */
  readonly complete: boolean
  /** W3C id of its trace, when a plugin traces it and the trace is sampled. */
  readonly traceId: string | undefined
}

/** A request that a command of the CLI is about to send to the running app. */
export interface CommandRequest {
  readonly method: string
  /** Whole, with the query. */
  readonly url: string
  /** As sent; absent without a body. */
  readonly body: string | undefined
  readonly contentType: string | undefined
}

/** What a plugin adds to the request of a command to authorize it in the running app. */
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
  purgeData: Collect<[before: number], readonly string[]>
}

export const coreHooks = {
  onReady: { kind: 'settle', args: ['address'], summary: 'The app listens; address is absent when it serves no HTTP' },
  onClose: { kind: 'settle', args: ['reason'], summary: 'Shutdown begins; readiness answers 503 from here on' },
  onRequestEnd: { kind: 'notify', args: ['request'], summary: 'A response has ended, of probes as well' },
  onRequestError: { kind: 'notify', args: ['error', 'request'], summary: 'A request ended with a 5xx response' },
  onListenerMuted: { kind: 'notify', args: ['listener'], summary: 'A listener failed 50 times in a row and is muted for a while' },
  onPluginEnabled: { kind: 'notify', args: ['plugin'], summary: 'A plugin was enabled after boot' },
  onPluginDisabled: { kind: 'notify', args: ['plugin'], summary: 'A plugin was disabled at run time' },
  beforePluginStart: {
    kind: 'gate',
    args: ['plugin'],
    summary: 'All plugins are set up and this one is about to start; deny to fail it',
    timeoutMs: 30_000,
  },
  beforeManagementAction: {
    kind: 'gate',
    args: ['action'],
    summary: 'A plugin is about to do what somebody asked for, such as removing a device; deny to refuse it. See `ctx.manage`',
  },
  onManagementAction: {
    kind: 'settle',
    args: ['action', 'end'],
    summary:
      'A management action was done, was refused or has failed; its caller hears of it afterwards. `action` is the same object as before it',
  },
  authorizeCommand: {
    kind: 'first',
    args: ['request'],
    summary: 'A CLI command is about to send a request to the running app; a listener returns the headers that authorize it',
  },
  transformErrorBody: { kind: 'waterfall', args: ['body', 'error', 'request'], summary: 'The body of an error response before it is sent' },
  collectReadiness: { kind: 'collect', args: [], summary: 'Readiness of every plugin that reports it' },
  collectMetrics: { kind: 'collect', args: [], summary: 'Metric samples of every plugin' },
  purgeData: {
    kind: 'collect',
    args: ['before'],
    summary:
      'Data from before a time, in ms since 1970, are to be deleted on one node; each plugin deletes its own in short steps and names it, as `<plugin>.<data>`',
    timeoutMs: 30_000,
  },
} satisfies HookSpecs<CoreHooks>

/**
 * Every hook by name. A plugin adds its own:
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
