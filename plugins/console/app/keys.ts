import { Value } from './data/signal.js'
import { isAsking } from './ui/dialog.js'

/** A shortcut of one key or a sequence of two: `?`, `g q`. */
export interface KeyBinding {
  readonly keys: string
  readonly title: string
  readonly group: 'Go to' | 'Page' | 'List' | 'Everywhere'
  readonly run: () => void
}

/** The shortcuts available now. */
const bindings = new Value<readonly KeyBinding[]>([])

export const allBindings = bindings

/** Adds shortcuts; the returned function removes them. */
export function bind(added: readonly KeyBinding[]): () => void {
  bindings.set([...bindings.value, ...added])
  return () => bindings.set(bindings.value.filter((one) => !added.includes(one)))
}

/** Keys handled by tables themselves, listed for the help dialog. */
export const listKeys: readonly Omit<KeyBinding, 'run'>[] = [
  { keys: 'j', title: 'Next row', group: 'List' },
  { keys: 'k', title: 'Previous row', group: 'List' },
  { keys: 'Enter', title: 'Open the row', group: 'List' },
  { keys: 'x', title: 'Select the row', group: 'List' },
  { keys: 'Shift x', title: 'Select all rows from the last selected one', group: 'List' },
  { keys: 'Shift ↓', title: 'Select this row and the next one', group: 'List' },
]

/** Time limit for the second key, in ms. */
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
