import type { HookKind } from './kinds.js'
import type { Listener } from './listener.js'

/** Records emissions of notify and settle hooks; for tests. */
export type Recorder = (name: string, args: readonly unknown[]) => void

/**
 * Base class of all slots. `active`, `listeners` and `recorders` change only through `update`, which
 * replaces whole arrays, so that a call in progress keeps the arrays it started with.
 */
export abstract class Slot {
  abstract readonly kind: HookKind
  readonly name: string
  active = false
  protected listeners: readonly Listener[] = []
  protected recorders: readonly Recorder[] = []

  constructor(name: string) {
    this.name = name
  }

  update(listeners: readonly Listener[], recorders: readonly Recorder[]): void {
    this.listeners = listeners
    this.recorders = recorders
    this.active = listeners.length > 0 || recorders.length > 0
  }

  protected record(args: readonly unknown[]): void {
    for (const recorder of this.recorders) recorder(this.name, args)
  }
}
