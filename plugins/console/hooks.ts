import type { Collect, HookSpecs } from 'zin'
import type { ConsoleContribution } from './contract.js'

/** Hooks that the plugin fires. */
export interface ConsoleHooks {
  collectConsole: Collect<[], ConsoleContribution>
}

export const consoleHooks = {
  collectConsole: {
    kind: 'collect',
    args: [],
    summary: 'Pages and panels that plugins add to the console; called once, after the start',
  },
} satisfies HookSpecs<ConsoleHooks>

declare module 'zin' {
  interface HookMap extends ConsoleHooks {}
}
