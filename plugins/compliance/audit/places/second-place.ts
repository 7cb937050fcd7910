import { type Kv, updateKey } from 'zin/plugins/kv'
import { complianceErrors } from '../../errors.js'
import { type Checkpoint, parseCheckpoint } from './checkpoint.js'
import type { Witness } from './witness.js'

const chainsKey = 'compliance:audit:chains'
const keyOf = (chain: number): string => `compliance:audit:chain:${chain}`
const startKeyOf = (chain: number): string => `compliance:audit:start:${chain}`

/**
 * The newest seal of each chain in kv, its start, and the highest number of a chain. The key of a seal is written only by the process of the
 * chain, that of a start only by the purging node.
 */
export class SecondPlace implements Witness {
  readonly name = 'kv'
  readonly #kv: Pick<Kv, 'delete' | 'get' | 'getMany' | 'set'>
  /** The chain of this process, once its key is known to be its own. */
  #own: number | undefined

  constructor(kv: Pick<Kv, 'delete' | 'get' | 'getMany' | 'set'>) {
    this.#kv = kv
  }

  async chains(): Promise<number> {
    return Number(await this.#kv.get(chainsKey)) || 0
  }

  async read(chains: readonly number[]): Promise<readonly Checkpoint[]> {
    const texts = await this.#kv.getMany(chains.map(keyOf))
    return texts.flatMap((text) => (text === null ? [] : (parseCheckpoint(text) ?? [])))
  }

  async starts(chains: readonly number[]): Promise<ReadonlyMap<number, number>> {
    const texts = await this.#kv.getMany(chains.map(startKeyOf))
    return new Map(chains.flatMap((chain, index) => (texts[index] == null ? [] : [[chain, Number(texts[index])] as const])))
  }

  /** Stores the number of entries at the start of a chain that are about to be deleted. */
  async moveStart(chain: number, purged: number): Promise<void> {
    await updateKey(this.#kv, startKeyOf(chain), (known) =>
      known !== null && Number(known) >= purged ? undefined : { value: String(purged) },
    )
  }

  /** Stores a seal of the chain of this process. Rejects with AUDIT_SET_BACK if another chain has its number. */
  async save(checkpoint: Checkpoint): Promise<void> {
    if (this.#own !== checkpoint.chain) await this.#claim(checkpoint)
    await this.put(checkpoint)
  }

  /** Stores a seal of a chain whose process has ended. */
  async put(checkpoint: Checkpoint): Promise<void> {
    await this.#kv.set(keyOf(checkpoint.chain), JSON.stringify(checkpoint))
  }

  /** Stores the number of a chain as the highest one, unless a higher one is known. */
  async raise(chain: number): Promise<void> {
    await updateKey(this.#kv, chainsKey, (highest) => (Number(highest) >= chain ? undefined : { value: String(chain) }))
  }

  async forget(chain: number): Promise<void> {
    await this.#kv.delete(keyOf(chain))
    await this.#kv.delete(startKeyOf(chain))
  }

  /** The key of an earlier chain with the same number proves that the tables were set back, so it is never overwritten. */
  async #claim({ chain, opening }: Checkpoint): Promise<void> {
    const text = await this.#kv.get(keyOf(chain))
    const known = text === null ? undefined : parseCheckpoint(text)
    if (known !== undefined && known.opening !== opening) throw complianceErrors.AUDIT_SET_BACK(chain)
    // Only once: if kv loses it, the start is not known, rather than known to be the first entry.
    await this.#kv.set(startKeyOf(chain), '0', { ifAbsent: true })
    await this.raise(chain)
    this.#own = chain
  }
}
