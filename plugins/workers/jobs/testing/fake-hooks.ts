import type { HookSlots } from '../../hook-slots.js'
import type { PayloadSlots } from '../payload.js'

type Slots = PayloadSlots & Pick<HookSlots, 'onJobStart' | 'transformJobOptions'>
type Listeners = { readonly [K in keyof Slots]?: Slots[K]['call'] }

/** Hook slots with one listener each at most. */
export function fakeHooks(listeners: Listeners = {}): Slots {
  const slot = <K extends keyof Slots>(name: K): Slots[K] => {
    const listener = listeners[name]
    return { active: listener !== undefined, call: listener ?? ((value: unknown) => value) } as unknown as Slots[K]
  }
  return {
    onJobStart: slot('onJobStart'),
    transformJobOptions: slot('transformJobOptions'),
    transformJobData: slot('transformJobData'),
    restoreJobData: slot('restoreJobData'),
    transformJobResult: slot('transformJobResult'),
    restoreJobResult: slot('restoreJobResult'),
  }
}
