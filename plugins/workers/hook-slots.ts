import type { PluginHooks, SlotOf } from 'zin'
import type { WorkerHooks } from './hooks.js'

/** The slots of the plugin's hooks, fetched once. */
export type HookSlots = { readonly [K in keyof WorkerHooks]: SlotOf<WorkerHooks[K]> }

export function hookSlots(hooks: PluginHooks): HookSlots {
  return {
    onJobStart: hooks.slot('onJobStart'),
    onJobComplete: hooks.slot('onJobComplete'),
    onJobFailed: hooks.slot('onJobFailed'),
    onJobAdded: hooks.slot('onJobAdded'),
    onAttemptEnd: hooks.slot('onAttemptEnd'),
    afterAttempt: hooks.slot('afterAttempt'),
    onWorkerStart: hooks.slot('onWorkerStart'),
    onWorkerStop: hooks.slot('onWorkerStop'),
    beforeWorkerStart: hooks.slot('beforeWorkerStart'),
    beforeWorkerChange: hooks.slot('beforeWorkerChange'),
    onWorkerChange: hooks.slot('onWorkerChange'),
    onWorkerChangeFailed: hooks.slot('onWorkerChangeFailed'),
    collectHealthTerms: hooks.slot('collectHealthTerms'),
    transformJobOptions: hooks.slot('transformJobOptions'),
    resolveProcessor: hooks.slot('resolveProcessor'),
  }
}
