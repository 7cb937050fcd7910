import type { LogLevel } from 'zin'
import type { SignatureClaim } from 'zin/signing'
import type { ServiceSecrets } from '../auth/strategies.js'
import type { ServiceDefinition } from '../definitions/definition.js'
import type { MicroservicesOptions } from '../options.js'
import { lineLevels } from './child-log.js'
import type { InstanceState } from './instance.js'
import type { ServiceAppOptions } from './service-app.js'

/** First message to a child process that runs one instance of a service. Secrets use the pipe, because others can read arguments. */
export interface ChildStart {
  readonly type: 'start'
  readonly definition: ServiceDefinition
  /** Services it can call. */
  readonly others: readonly ServiceDefinition[]
  /** States of all instances of `others`; changes follow as {@link StatesChanged}. */
  readonly states: readonly InstanceState[]
  readonly port: number
  readonly app: ServiceAppOptions['app']
  readonly caller: string
  readonly logLevel: LogLevel
  readonly secrets: ServiceSecrets
  readonly options: Omit<MicroservicesOptions, 'authenticate' | 'credentials' | 'services'>
  readonly tracing: { readonly enabled: boolean; readonly samplingRate: number }
}

/** Reply to {@link NonceAsked}. `why`: the nonce was refused; `failed`: the store did not respond. */
export interface NonceTaken {
  readonly type: 'nonce'
  readonly id: number
  readonly why?: string
  readonly failed?: string
}

/** States that instances of `others` have now. The app checks their health, so the child does not. */
export interface StatesChanged {
  readonly type: 'states'
  readonly states: readonly InstanceState[]
}

export type ToChild = ChildStart | { readonly type: 'stop' } | NonceTaken | StatesChanged

/** A log line of the child. */
export interface ChildLine {
  readonly type: 'log'
  readonly level: Exclude<LogLevel, 'silent'>
  readonly facts: object
  readonly message: string
}

/** Asks the app to claim a nonce: all processes of the app share them. */
export interface NonceAsked {
  readonly type: 'nonce'
  readonly id: number
  readonly claim: SignatureClaim
}

export type FromChild = NonceAsked | { readonly type: 'ready' } | { readonly type: 'failed'; readonly message: string } | ChildLine

/** How a child sends a message: code of the service may send its own, such as `process.send('ready')`. */
export interface Envelope {
  readonly zinService: FromChild
}

/** Longest text of a message, in characters. */
const mostCharacters = 10_000

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null

/** Returns a message of the child; undefined for anything else that its process sent. Pure. */
export function fromChild(sent: unknown): FromChild | undefined {
  const message = isObject(sent) ? sent.zinService : undefined
  if (!isObject(message)) return undefined
  const { claim, facts, id, level, message: text, type } = message
  switch (type) {
    case 'ready':
      return { type }
    case 'failed':
      return typeof text === 'string' ? { type, message: text.slice(0, mostCharacters) } : undefined
    case 'nonce':
      return Number.isSafeInteger(id) && isClaim(claim) ? { type, id: id as number, claim } : undefined
    case 'log': {
      const known = lineLevels.find((one) => one === level)
      if (known === undefined || typeof text !== 'string') return undefined
      return { type, level: known, facts: isObject(facts) ? facts : {}, message: text.slice(0, mostCharacters) }
    }
    default:
      return undefined
  }
}

function isClaim(value: unknown): value is SignatureClaim {
  const texts = ['keyId', 'timestamp', 'nonce', 'signature'] as const
  return isObject(value) && texts.every((name) => typeof value[name] === 'string')
}
