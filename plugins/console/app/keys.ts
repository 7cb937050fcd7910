import { Value } from './data/signal.js'
import { isAsking } from './ui/dialog.js'

/** A key, or two one after the other: `?`, `g q`. */
export interface KeyBinding {
  readonly keys: string
  readonly title: string
  readonly group: 'Go to' | 'Page' | 'List' | 'Everywhere'
  readonly run: () => void
}

/** The keys of what is shown now. */
const bindings = new Value<readonly KeyBinding[]>([])

export const allBindings = bindings

/** Adds keys until the returned function is called. */
export function bind(added: readonly KeyBinding[]): () => void {
  bindings.set([...bindings.value, ...added])
  return () => bindings.set(bindings.value.filter((one) => !added.includes(one)))
}

/** The keys that tables and lists hear themselves. */
export const listKeys: readonly Omit<KeyBinding, 'run'>[] = [
  { keys: 'j', title: 'Next row', group: 'List' },
  { keys: 'k', title: 'Previous row', group: 'List' },
  { keys: 'Enter', title: 'Open the row', group: 'List' },
  { keys: 'x', title: 'Mark the row', group: 'List' },
  { keys: 'Shift x', title: 'Mark all rows from the last marked one', group: 'List' },
  { keys: 'Shift ↓', title: 'Mark this row and the next one', group: 'List' },
]

/** Time for the second key, ms. */
const pairMs = 1_500

export function listenToKeys(): void {
  let first: { readonly key: string; readonly at: number } | undefined
  addEventListener('keydown', (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      bindings.value.find(({ keys }) => keys === '/')?.run()
      return
    }
    if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented || isTyping(event.target) || isAsking()) return
    const pair = first !== undefined && event.timeStamp - first.at < pairMs ? `${first.key} ${event.key}` : undefined
    const found = bindings.value.findLast(({ keys }) => keys === pair) ?? bindings.value.findLast(({ keys }) => keys === event.key)
    first = { key: event.key, at: event.timeStamp }
    if (found === undefined) return
    event.preventDefault()
    first = undefined
    found.run()
  })
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest('input:not([type=checkbox]), textarea, select, dialog') !== null)
  )
}
