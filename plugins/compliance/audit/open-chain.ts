import { setTimeout as wait } from 'node:timers/promises'
import { type Clock, type Logger, withDeadline } from 'zin'
import type { KeyRing } from '../keys.js'
import { type Chain, newChain, registerChain, withHead, withoutStart } from './chain.js'
import type { AuditStore } from './store/contract.js'

export interface OpenChainInput {
  readonly store: AuditStore
  readonly keys: KeyRing
  /** Node that will write the chain. */
  readonly node: string
  readonly clock: Clock
  readonly log: Logger
  /** Deadline of each attempt, in ms. */
  readonly storeMs: number
}

/** Maximum number of attempts to get a chain number. */
const openTries = 50

/** Opens a chain with a new number. If another process takes the number first, tries the next one. */
export async function openChain(input: OpenChainInput): Promise<Chain> {
  const { clock, node, storeMs } = input
  const openedAt = clock.now()
  for (let attempt = 0; attempt < openTries; attempt++) {
    const opened = await withDeadline(tryOpen(input, openedAt), storeMs, `no response within ${storeMs} ms`)
    if (opened !== undefined) return opened
    await wait(Math.random() * 20 * (attempt + 1))
  }
  throw new Error(`${node} could not get a chain number in ${openTries} attempts`)
}

async function tryOpen({ keys, log, node, store }: OpenChainInput, openedAt: number): Promise<Chain | undefined> {
  const key = keys.current
  const register = (await store.chain(registerChain)) ?? newChain(key, '', { chain: registerChain, node: 'register', openedAt })
  const [newest] = await store.chains(register.entries, 1)
  // Another process may have opened a chain since the register was read.
  const before = newest ?? { chain: register.entries, opening: register.lastHash }
  const chain = newChain(key, before.opening, { chain: before.chain + 1, node, openedAt })
  // A new key also seals the start of the register: it must not be possible to move it with an earlier key.
  const grown = withoutStart(key, withHead(key, register, { entries: chain.chain, lastHash: chain.opening }), register)
  if (!(await store.open(chain, grown))) return undefined
  if (keys.find(register.sealKeyId) === undefined) {
    log.warn(
      { key: register.sealKeyId },
      `the audit log was sealed with the key ${register.sealKeyId}, which is not configured: earlier entries cannot be verified until the earlier APP_KEY is in APP_KEY_BK`,
    )
  }
  return chain
}
