import type { Logger } from '../log/types.js'
import type { Clock } from '../util/clock.js'
import { suggest } from '../util/suggest.js'
import type { HookMap } from './catalogue.js'
import { CollectSlot } from './collect.js'
import { Delivery } from './delivery.js'
import { hookErrors } from './errors.js'
import { FirstSlot } from './first.js'
import { GateSlot } from './gate.js'
import type { HookKind, HookSpec, SlotOf } from './kinds.js'
import { type AnyListener, Listener, LONGEST_TIMEOUT_MS, sortListeners } from './listener.js'
import { NOTIFY_MAX_ARGS, NotifySlot } from './notify.js'
import type { HookReport } from './report.js'
import { SettleSlot } from './settle.js'
import type { Recorder, Slot } from './slot.js'
import { Watchdog } from './watchdog.js'
import { WaterfallSlot } from './waterfall.js'

const DEFAULT_TIMEOUT_MS: Readonly<Record<HookKind, number>> = {
  notify: 5_000,
  settle: 10_000,
  collect: 2_000,
  first: 5_000,
  waterfall: 5_000,
  gate: 5_000,
}

export interface HookBusOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Position of a plugin in the graph; lower ranks run first. */
  readonly rank: (plugin: string) => number
}

interface Declaration {
  readonly owner: string
  readonly spec: HookSpec
}

/** The state of one hook name. It outlives its declaration, so that slots keep their identity and listeners can wait for a declaration. */
interface Hook {
  readonly name: string
  declaration: Declaration | undefined
  slot: Slot | undefined
  /** In execution order. */
  listeners: readonly Listener[]
}

/** All hooks of one host, each with its declaration, listeners and slot. */
export class HookBus {
  readonly #options: HookBusOptions
  readonly #watchdog: Watchdog
  readonly #delivery: Delivery
  readonly #hooks = new Map<string, Hook>()
  #recorders: readonly Recorder[] = []
  #registrations = 0
  #closed = false

  constructor(options: HookBusOptions) {
    const { clock, log } = options
    this.#options = options
    this.#watchdog = new Watchdog(clock)
    this.#delivery = new Delivery({ clock, log, watchdog: this.#watchdog, onMuted: (muted) => this.#emitMuted(muted) })
  }

  /**
   * Declares hooks, all or none of them. The disposer removes the declarations.
   * Throws `ZIN_HOOK_DUPLICATE` for a name that is already declared, `ZIN_HOOK_KIND` for an unknown kind or a different one than
   * before, `ZIN_HOOK_TIMEOUT_MS` for an invalid deadline, `ZIN_HOOK_ARGS` for a notify hook with more than 4 arguments.
   */
  declare(owner: string, specs: Readonly<Record<string, HookSpec>>): () => void {
    for (const [name, spec] of Object.entries(specs)) this.#checkDeclaration(owner, name, spec)
    const declared = Object.entries(specs).map(([name, spec]) => {
      const hook = this.#hook(name)
      hook.declaration = { owner, spec }
      hook.slot ??= this.#makeSlot(name, spec.kind)
      this.#refresh(hook)
      return { hook, declaration: hook.declaration }
    })
    return () => {
      for (const { hook, declaration } of declared) {
        if (hook.declaration !== declaration) continue
        hook.declaration = undefined
        this.#refresh(hook)
      }
    }
  }

  /**
   * Adds a listener. One for an undeclared hook waits for the declaration, and `problems` lists it until then.
   * Throws `ZIN_HOOK_LISTENER` if the listener or one of its options is invalid.
   */
  on(plugin: string, name: string, listener: AnyListener): () => void {
    const added = new Listener(plugin, name, listener, this.#registrations++)
    const hook = this.#hook(name)
    hook.listeners = sortListeners([...hook.listeners, added], this.#options.rank)
    this.#refresh(hook)
    return () => {
      if (!hook.listeners.includes(added)) return
      hook.listeners = hook.listeners.filter((one) => one !== added)
      this.#delivery.clear(added)
      this.#refresh(hook)
    }
  }

  /** Returns the slot that emits a hook, one object per name. Throws `ZIN_HOOK_UNKNOWN` for an undeclared hook. */
  slot<N extends keyof HookMap>(name: N): SlotOf<HookMap[N]> {
    const hook = this.#hooks.get(name)
    if (hook?.declaration === undefined || hook.slot === undefined) {
      throw hookErrors.ZIN_HOOK_UNKNOWN(name, this.#hint(name))
    }
    return hook.slot as unknown as SlotOf<HookMap[N]>
  }

  /** Re-sorts all listeners. Call it after the result of `rank` has changed. */
  reorder(): void {
    for (const hook of this.#hooks.values()) {
      hook.listeners = sortListeners(hook.listeners, this.#options.rank)
      this.#refresh(hook)
    }
  }

  /** Lists every declared hook with its listeners in execution order. */
  report(): readonly HookReport[] {
    return [...this.#hooks.values()].flatMap(({ name, declaration, listeners }) => {
      if (declaration === undefined) return []
      const { owner, spec } = declaration
      const { kind, summary, args } = spec
      return [{ name, kind, owner, summary, args, listeners: listeners.map((listener) => listener.report()) }]
    })
  }

  /** Returns one sentence for each listener that is never called and each listener option without effect. */
  problems(): readonly string[] {
    const problems = [...this.#hooks.values()].flatMap(({ name, declaration, listeners }) => {
      if (declaration === undefined) {
        return listeners.map(({ plugin }) => `${plugin}: listens to hook "${name}", which no enabled plugin declares; ${this.#hint(name)}`)
      }
      const { kind } = declaration.spec
      if (kind === 'notify') return []
      return listeners
        .filter((listener) => listener.notifyOnly)
        .map(
          ({ plugin }) =>
            `${plugin}: sets "sequential" or "maxPending" on hook "${name}", where they have no effect: its kind is ${kind}, not notify; remove them`,
        )
    })
    return [...new Set(problems)]
  }

  /** For tests: records every notify and settle emission from now on, including those of hooks without listeners. */
  record(listener: Recorder): () => void {
    // A wrapper, so that the same function can be recorded twice.
    const recorder: Recorder = (name, args) => listener(name, args)
    this.#setRecorders([...this.#recorders, recorder])
    return () => this.#setRecorders(this.#recorders.filter((one) => one !== recorder))
  }

  /** Removes all listeners and stops the watchdog. Slots stay callable and do nothing. */
  close(): void {
    this.#closed = true
    this.#watchdog.close()
    for (const hook of this.#hooks.values()) {
      for (const listener of hook.listeners) this.#delivery.clear(listener)
      hook.listeners = []
      this.#refresh(hook)
    }
  }

  #hook(name: string): Hook {
    let hook = this.#hooks.get(name)
    if (hook === undefined) {
      hook = { name, declaration: undefined, slot: undefined, listeners: [] }
      this.#hooks.set(name, hook)
    }
    return hook
  }

  #checkDeclaration(owner: string, name: string, spec: HookSpec): void {
    const { declaration, slot } = this.#hooks.get(name) ?? {}
    if (declaration !== undefined) {
      throw hookErrors.ZIN_HOOK_DUPLICATE(owner, name, declaration.owner)
    }
    if (slot !== undefined && slot.kind !== spec.kind) {
      throw hookErrors.ZIN_HOOK_KIND(owner, name, `as ${spec.kind}, but it was declared as ${slot.kind} before; rename it`)
    }
    if (!Object.hasOwn(DEFAULT_TIMEOUT_MS, spec.kind)) {
      const kinds = Object.keys(DEFAULT_TIMEOUT_MS).join(', ')
      throw hookErrors.ZIN_HOOK_KIND(owner, name, `with kind "${spec.kind}"; use one of ${kinds}`)
    }
    if (spec.timeoutMs !== undefined && !(spec.timeoutMs > 0 && spec.timeoutMs <= LONGEST_TIMEOUT_MS)) {
      throw hookErrors.ZIN_HOOK_TIMEOUT_MS(owner, name, spec.timeoutMs, LONGEST_TIMEOUT_MS)
    }
    if (spec.kind === 'notify' && spec.args.length > NOTIFY_MAX_ARGS) {
      throw hookErrors.ZIN_HOOK_ARGS(owner, name, spec.args.length, NOTIFY_MAX_ARGS)
    }
  }

  #makeSlot(name: string, kind: HookKind): Slot {
    const { clock, log } = this.#options
    switch (kind) {
      case 'notify':
        return new NotifySlot(name, this.#delivery)
      case 'settle':
        return new SettleSlot(name, clock)
      case 'collect':
        return new CollectSlot(name, clock)
      case 'first':
        return new FirstSlot(name, clock)
      case 'waterfall':
        return new WaterfallSlot(name, clock)
      case 'gate':
        return new GateSlot(name, clock, log)
    }
  }

  /** Updates a hook's slot from its declaration and listeners. */
  #refresh(hook: Hook): void {
    const { slot, declaration, listeners } = hook
    if (slot === undefined) return
    if (declaration === undefined || this.#closed) {
      slot.update([], [])
      return
    }
    const { kind, timeoutMs } = declaration.spec
    for (const listener of listeners) listener.timeoutMs = listener.ownTimeoutMs ?? timeoutMs ?? DEFAULT_TIMEOUT_MS[kind]
    slot.update(listeners, kind === 'notify' || kind === 'settle' ? this.#recorders : [])
  }

  #setRecorders(recorders: readonly Recorder[]): void {
    this.#recorders = recorders
    for (const hook of this.#hooks.values()) this.#refresh(hook)
  }

  #emitMuted(muted: HookMap['onListenerMuted']['args'][0]): void {
    const slot = this.#hooks.get('onListenerMuted')?.slot
    if (slot instanceof NotifySlot) slot.call(muted)
  }

  #hint(name: string): string {
    const declared = [...this.#hooks.values()].filter((hook) => hook.declaration !== undefined).map((hook) => hook.name)
    const near = suggest(name, declared)
    return near === undefined ? 'enable the plugin that declares it' : `did you mean "${near}"?`
  }
}
