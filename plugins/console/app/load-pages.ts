import type { ConsoleModule } from '../contract.js'
import { additions } from './additions.js'
import { messageOf } from './data/message.js'
import { isEnabled, session } from './data/session.js'
import { kit } from './kit.js'
import { builtIn } from './pages/index.js'
import { toast } from './ui/toast.js'

/** Loads the built-in pages and the modules of plugins. A module that fails is skipped and reported. */
export async function loadPages(): Promise<void> {
  add(builtIn)
  for (const { plugin, url } of session.value?.modules ?? []) {
    try {
      const { default: module } = (await import(url)) as { default: ConsoleModule }
      add([module])
    } catch (error) {
      toast('bad', `The pages of plugin "${plugin}" could not be loaded: ${messageOf(error)}`)
    }
  }
}

function add(modules: readonly ConsoleModule[]): void {
  const made = modules.map((module) => module(kit))
  const { pages, panels } = additions.value
  const enabled = ({ plugin }: { readonly plugin?: string }): boolean => plugin === undefined || isEnabled(plugin)
  additions.set({
    pages: [...pages, ...made.flatMap((one) => one.pages ?? []).filter(enabled)],
    panels: [...panels, ...made.flatMap((one) => one.panels ?? []).filter(enabled)],
  })
}
