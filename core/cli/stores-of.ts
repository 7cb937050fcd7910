import { messageOf } from '../errors.js'
import type { CommandContext } from '../host/command.js'
import type { StoreInfo } from '../util/stores.js'

export interface KnownStores {
  /** A store that several plugins use is listed for each of them. */
  readonly stores: readonly StoreInfo[]
  readonly failures: readonly { readonly plugin: string; readonly reason: string }[]
}

/** The stores that the plugins of an app use. */
export async function storesOf(slot: CommandContext['slot']): Promise<KnownStores> {
  const stores: StoreInfo[] = []
  const failures: { readonly plugin: string; readonly reason: string }[] = []
  for (const [plugin, found] of await slot('collectStores').call()) {
    if (found instanceof Error) failures.push({ plugin, reason: messageOf(found) })
    else stores.push(...found)
  }
  return { stores, failures }
}
