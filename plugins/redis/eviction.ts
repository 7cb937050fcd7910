import type { Logger } from 'zin'
import type { RedisClient } from './client.js'
import { redisErrors } from './errors.js'

export interface EvictionCheck {
  readonly client: RedisClient
  /** For messages: the plugin, the server, and what an eviction would lose. */
  readonly plugin: string
  readonly where: string
  readonly keeps: string
  /** Whether a policy other than `noeviction` is an error; otherwise it is a warning. */
  readonly strict: boolean
  readonly log: Logger
}

/** Verifies that Redis does not drop keys when its memory is full. Throws REDIS_EVICTS. Warns when Redis does not report its policy. */
export async function checkEviction({ client, plugin, where, keeps, strict, log }: EvictionCheck): Promise<void> {
  const nodes = 'nodes' in client ? client.nodes('master') : [client]
  const policies = await Promise.all(nodes.map(async (node) => policyIn(await node.info('memory').catch(() => ''))))
  const evicting = policies.find((policy) => policy !== undefined && policy !== 'noeviction')
  if (evicting !== undefined) {
    const problem = redisErrors.REDIS_EVICTS(plugin, where, evicting, keeps)
    if (strict) throw problem
    log.warn(problem.message)
  } else if (policies.includes(undefined)) {
    log.warn(`${plugin}: ${where} does not report its maxmemory-policy; make sure that it is noeviction, otherwise ${keeps} can be lost`)
  }
}

/** The policy in the reply to `INFO memory`. */
function policyIn(info: string): string | undefined {
  return /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
}
