import { opsErrors } from './errors.js'

export interface ModeFacts {
  readonly production: boolean
  /** The address the app binds to. */
  readonly host: string
}

export type OpsAuth = 'auto' | 'required' | 'open'

/** Whether callers on this machine need credentials. Throws OPS_OPEN_IN_PRODUCTION and OPS_OPEN_ON_NETWORK. */
export function opsMode(auth: OpsAuth, { production, host }: ModeFacts): 'open' | 'required' {
  const local = isLoopback(host)
  if (auth === 'open' && production) throw opsErrors.OPS_OPEN_IN_PRODUCTION()
  if (auth === 'open' && !local) throw opsErrors.OPS_OPEN_ON_NETWORK(host)
  return auth !== 'required' && local && !production ? 'open' : 'required'
}

/** Whether a bind address is reachable from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)
}

/** Host names under which a browser on this machine reaches the app. */
export function loopbackNames(bindHost: string): readonly string[] {
  const own = bindHost.includes(':') && !bindHost.startsWith('[') ? `[${bindHost}]` : bindHost
  return [...new Set(['127.0.0.1', 'localhost', '[::1]', own])]
}
