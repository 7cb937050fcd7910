import type { Collect, HookSpecs } from 'zin'
import type { ConsoleContribution } from './contract.js'

/** Hooks fired by the plugin. */
export interface ConsoleHooks {
  collectConsole: Collect<[], ConsoleContribution>
}

export const consoleHooks = {
  collectConsole: {
    kind: 'collect',
    args: [],
    summary: 'Pages and panels that plugins add to the console; called once, after the app has started',
  },
} satisfies HookSpecs<ConsoleHooks>

declare module 'zin' {
  interface HookMap extends ConsoleHooks {}
}
