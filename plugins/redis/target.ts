import { redisErrors } from './errors.js'

export interface RedisNode {
  readonly host: string
  readonly port: number
}

/** A parsed Redis URL: where Redis is, and the credentials. */
export interface RedisTarget {
  readonly kind: 'single' | 'cluster' | 'sentinel'
  readonly nodes: readonly [RedisNode, ...RedisNode[]]
  readonly tls: boolean
  readonly db: number
  readonly username?: string
  readonly password?: string
  /** Sentinel only: the name of the master. */
  readonly master?: string
  /** Sentinel only: the password of the sentinels themselves. */
  readonly sentinelPassword?: string
}

const shapes =
  'redis://[user:password@]host[:port][/db], rediss:// for TLS, redis-cluster://host:port,host:port or redis-sentinel://host:port,host:port/master[/db] (rediss-cluster, rediss-sentinel for TLS)'
const schemes: Readonly<Record<string, Pick<RedisTarget, 'kind' | 'tls'>>> = {
  redis: { kind: 'single', tls: false },
  rediss: { kind: 'single', tls: true },
  'redis-cluster': { kind: 'cluster', tls: false },
  'rediss-cluster': { kind: 'cluster', tls: true },
  'redis-sentinel': { kind: 'sentinel', tls: false },
  'rediss-sentinel': { kind: 'sentinel', tls: true },
}

/** Parses a Redis URL. Throws REDIS_URL_INVALID, whose message never repeats the URL. Pure. */
export function redisTarget(setting: string, url: string): RedisTarget {
  const refuse = (what: string) => redisErrors.REDIS_URL_INVALID(setting, what, shapes)
  const parts = /^([a-z-]+):\/\/(?:([^@/?#]*)@)?([^@/?#]+)(\/[^?#]*)?(\?[^#]*)?$/.exec(url.trim())
  const scheme = schemes[parts?.[1] ?? '']
  if (!parts || !scheme) throw refuse('it has none of the supported forms')
  const [, , login = '', hosts = '', path = '', search = ''] = parts
  const nodes = hosts.split(',').map((host) => redisNode(host, scheme.kind === 'sentinel' ? 26_379 : 6379) ?? host)
  const bad = nodes.findIndex((node) => typeof node === 'string')
  const [first, ...others] = nodes.filter((node) => typeof node !== 'string')
  if (!first || bad >= 0) throw refuse(`host number ${bad + 1} is not of the form host or host:port with a port from 1 to 65535`)
  if (scheme.kind === 'single' && others.length > 0) throw refuse('it lists several hosts; use redis-cluster:// or redis-sentinel://')
  const segments = path.split('/').filter((segment) => segment !== '')
  const master = scheme.kind === 'sentinel' ? segments.shift() : undefined
  if (scheme.kind === 'sentinel' && master === undefined) throw refuse('the name of the master is missing after the hosts')
  const db = segments.length === 0 ? 0 : Number(segments[0])
  if (segments.length > 1 || !Number.isInteger(db) || db < 0 || db > 65_535) throw refuse('the path is not a database number')
  if (scheme.kind === 'cluster' && db !== 0) throw refuse('a cluster has only database 0')
  const { username, password } = redisLogin(login) ?? {}
  if (login !== '' && username === undefined && password === undefined) throw refuse('user or password is not URL-encoded')
  const sentinelPassword = new URLSearchParams(search).get('sentinelPassword') ?? undefined
  return {
    ...scheme,
    nodes: [first, ...others],
    db,
    ...(username && { username }),
    ...(password && { password }),
    ...(master && { master }),
    ...(sentinelPassword && { sentinelPassword }),
  }
}

/** For messages and logs: hosts and database, never user or password. */
export function describeRedis(target: RedisTarget): string {
  const hosts = target.nodes.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(', ')
  const kinds = { single: hosts, cluster: `cluster ${hosts}`, sentinel: `${target.master} by sentinels ${hosts}` }
  return `Redis at ${kinds[target.kind]}${target.db === 0 ? '' : `, database ${target.db}`}${target.tls ? ' (TLS)' : ''}`
}

function redisNode(text: string, defaultPort: number): RedisNode | undefined {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/.exec(text)
  const port = Number(parts?.[2] ?? defaultPort)
  if (!parts?.[1] || port < 1 || port > 65_535) return undefined
  return { host: parts[1].replace(/^\[|\]$/g, ''), port }
}

function redisLogin(text: string): { readonly username?: string; readonly password?: string } | undefined {
  const colon = text.indexOf(':')
  const [user, secret] = colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)]
  try {
    return { ...(user && { username: decodeURIComponent(user) }), ...(secret && { password: decodeURIComponent(secret) }) }
  } catch {
    return undefined
  }
}
