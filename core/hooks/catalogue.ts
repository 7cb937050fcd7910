import type { Address } from '../util/address.js'
import type { Collect, First, Gate, HookSpecs, Notify, Settle, Waterfall } from './kinds.js'

/** Result of one readiness check. */
export interface ReadinessReport {
  readonly ready: boolean
  /** Integer ms. */
  readonly responseTime: number
  readonly error?: string
}

/** One metric of a plugin, in Prometheus terms. */
export interface MetricSample {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly value: number
  readonly labels?: Readonly<Record<string, string>>
}

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
  onRequestError: Notify<[error: Error, request: FailedRequest]>
  onListenerMuted: Notify<[listener: MutedListener]>
  onPluginEnabled: Notify<[plugin: string]>
  onPluginDisabled: Notify<[plugin: string]>
  beforePluginStart: Gate<[plugin: string]>
  authorizeCommand: First<[request: CommandRequest], CommandCredential>
  transformErrorBody: Waterfall<ErrorBody, [error: Error, request: FailedRequest]>
  collectReadiness: Collect<[], ReadinessReport>
  collectMetrics: Collect<[], readonly MetricSample[]>
}

export const coreHooks = {
  onReady: { kind: 'settle', args: ['address'], summary: 'The app listens; address is absent when it serves no HTTP' },
  onClose: { kind: 'settle', args: ['reason'], summary: 'Shutdown begins; readiness answers 503 from here on' },
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
  authorizeCommand: {
    kind: 'first',
    args: ['request'],
    summary: 'A CLI command is about to send a request to the running app; a listener returns the headers that authorize it',
  },
  transformErrorBody: { kind: 'waterfall', args: ['body', 'error', 'request'], summary: 'The body of an error response before it is sent' },
  collectReadiness: { kind: 'collect', args: [], summary: 'Readiness of every plugin that reports it' },
  collectMetrics: { kind: 'collect', args: [], summary: 'Metric samples of every plugin' },
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
