import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { CollectSlot } from 'zin'
import { type Asset, makeAsset } from './assets.js'
import type { ConsoleContribution } from './contract.js'
import { consoleErrors } from './errors.js'

/** A plugin's module, under a file name that changes with its content. */
export interface LoadedModule {
  readonly plugin: string
  readonly permission: string | undefined
  readonly name: string
  readonly asset: Asset
}

const mostBytes = 1024 * 1024

/** Loads the modules contributed by plugins. Modules that cannot be loaded are reported and skipped. */
export async function loadModules(
  slot: CollectSlot<[], ConsoleContribution>,
  report: (error: Error) => void,
): Promise<readonly LoadedModule[]> {
  const contributions = await slot.call()
  const loaded = await Promise.all(
    [...contributions].map(async ([plugin, contribution]) => {
      try {
        if (contribution instanceof Error) throw contribution
        return await loadModule(plugin, contribution)
      } catch (error) {
        report(consoleErrors.CONSOLE_CONTRIBUTION(plugin, error instanceof Error ? error.message : String(error)))
        return undefined
      }
    }),
  )
  return loaded.filter((one) => one !== undefined)
}

async function loadModule(plugin: string, { module, permission }: ConsoleContribution): Promise<LoadedModule> {
  const bytes = await readFile(module)
  if (bytes.length > mostBytes) throw new Error(`its module has ${bytes.length} bytes; the limit is ${mostBytes}`)
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
  const name = `${plugin.replaceAll(/[^\w-]/g, '-')}-${hash}.js`
  return { plugin, permission, name, asset: await makeAsset('text/javascript; charset=utf-8', bytes) }
}
