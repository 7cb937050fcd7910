import { ZinError } from '../errors.js'
import type { CommandCredential } from '../hooks/catalogue.js'
import type { CommandShape } from '../host/command.js'
import { inCommands } from './command-words.js'
import { cliErrors } from './errors.js'

export interface AppResponse {
  readonly status: number
  readonly text: string
}

/** Returns the body of a response: parsed if it is JSON, otherwise its text. */
export function bodyOf(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return text
  }
}

export interface Refused {
  readonly response: AppResponse
  /** Method and path. */
  readonly request: string
  readonly baseUrl: string
  readonly appName: string
  /** The credential that was sent, if a plugin provided one. */
  readonly credential: CommandCredential | undefined
  readonly commands: readonly CommandShape[]
}

/** Returns the error of a command whose request failed: the message of the app, with a hint for the user of the terminal. */
export function refusal({ response: { status, text }, request, baseUrl, appName, credential, commands }: Refused): ZinError {
  const body = bodyOf(text)
  const { error, message, code, details } = (typeof body === 'object' && body !== null ? body : {}) as Readonly<Record<string, unknown>>
  if (typeof message !== 'string' || typeof code !== 'string') return cliErrors.ZIN_APP_RESPONSE(baseUrl, request, status)
  if (code === 'OTHER_APP')
    return new ZinError(
      code,
      `the app on ${baseUrl} is not "${appName}", the app of this folder; pass the address of "${appName}" with --url, or with --host and --port`,
      { status },
    )
  const hint = hintOf({ status, code, baseUrl, credential })
  return new ZinError(code, `${inCommands(message, commands)}${hint === undefined ? '' : `; ${hint}`}`, {
    status,
    details,
    ...(typeof error === 'string' ? { title: error } : {}),
  })
}

type Hinted = Pick<Refused, 'baseUrl' | 'credential'> & { readonly status: number; readonly code: string }

function hintOf({ status, code, baseUrl, credential }: Hinted): string | undefined {
  if (code === 'NOT_FOUND') return `the app on ${baseUrl} may be running older code than this folder; restart it`
  if (status !== 401) return undefined
  return credential?.onRefusal ?? 'no plugin of the app in this folder authorizes CLI requests (hook authorizeCommand)'
}
